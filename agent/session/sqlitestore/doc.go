// SPDX-License-Identifier: Apache-2.0

// Package sqlitestore keeps sessions on disk, with SQLite and without cgo.
//
//	store, err := sqlitestore.Open(dir, sqlitestore.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// A store is a directory that only its owner can read:
//
//	sessions.db     the database, with sessions.db-wal and sessions.db-shm beside it while it is open
//	media/          texts of 128 KiB and more, such as images, each in a file that is named by its hash
//	holders/        a locked file for each process that has the store open
//	sessions.v*.db  backups that were made before a migration
//
// # Durability
//
// Appended entries are synced to the disk when Append returns; concurrent appends share a sync.
// Views are written but not synced: they survive the end of the process, and the end of the machine
// from the next synced append on. Each entry and each item has a checksum. Damage is an error that
// wraps [session.ErrCorrupt] and names the entry or item; all others can be read.
//
// # Several processes
//
// Several processes can have the same store open. When a process ends, for whatever reason, its
// leases are free at once. The directory must be on a local file system. On systems that are
// neither Unix nor Windows one process at a time may open a store.
//
// If another process has the database locked, a method waits until its context ends, but no longer
// than Options.Busy, and then fails with [session.ErrBusy].
//
// # Versions
//
// Open copies a store of an older version to a file beside it, and migrates it. Programs of the
// version before continue, and can be started again. If the migration is across several versions
// and programs have the store open, Open fails with [session.ErrBusy]. Open refuses a newer store
// that does not serve this version with [session.ErrVersion], and changes nothing.
package sqlitestore
