# SPDX-License-Identifier: LGPL-2.1-or-later

# --- abi: the store
BENCHES += bench/store.sh
EXTRA_DIST += bench/store.sh bench/store.c
# libopagent: what a posted method costs
BENCHES += bench/opagent.sh
EXTRA_DIST += bench/run bench/opagent.sh
