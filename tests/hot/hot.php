<?php // SPDX-License-Identifier: GPL-3.0-or-later
function twice($n){$s=0;for($i=0;$i<2*$n;$i++)$s=($s*31+$i)&0xffffffff;return $s;}
function once($n){$s=0;for($i=0;$i<$n;$i++)$s=($s*31+$i)&0xffffffff;return $s;}
function cpu(){$r=getrusage();return $r["ru_utime.tv_sec"]*1e6+$r["ru_utime.tv_usec"];}
$x=$y=0;for($i=0;$i<($argv[1]??200);$i++){$a=cpu();twice(400000);$b=cpu();once(400000);$x+=$b-$a;$y+=cpu()-$b;}
@file_put_contents("own","$x $y"); echo "number\n";
