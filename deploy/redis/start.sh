#!/bin/sh
# Start redis-server with the arguments given, in the data folder; first take over restore.rdb,
# where somebody put one down. What was there before stays beside it as appendonlydir.before-TIME.
# A file that is no whole RDB is set aside as refused.rdb, and the old data are served.
set -eu

if [ -e restore.rdb ]; then
    # redis-cli leaves 40 bytes behind an RDB that it writes into a pipe; an AOF may have none.
    size_bytes=$(redis-check-rdb restore.rdb | sed -n 's/^\[offset \([0-9]*\)\] .*RDB looks OK.*/\1/p')
    if [ -n "$size_bytes" ]; then
        rm -rf restoring
        mkdir restoring
        head -c "$size_bytes" restore.rdb > restoring/appendonly.aof.1.base.rdb
        echo 'file appendonly.aof.1.base.rdb seq 1 type b' > restoring/appendonly.aof.manifest
        sync
        if [ -e appendonlydir ]; then
            mv appendonlydir "appendonlydir.before-$(date -u +%Y%m%dT%H%M%SZ)"
        fi
        mv restoring appendonlydir
        rm restore.rdb  # last, so that a crash repeats it all
        echo 'restored from restore.rdb' >&2
    else
        mv restore.rdb refused.rdb
        echo 'restore.rdb is no whole RDB: set aside as refused.rdb, the old data are served' >&2
    fi
fi
exec redis-server "$@"
