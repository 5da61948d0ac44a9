// SPDX-License-Identifier: Apache-2.0

// Package pgstore keeps sessions in Postgres, so that programs on several machines can share them.
//
//	store, err := pgstore.Open(ctx, "postgres://user@db.internal/app", pgstore.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The package is a module of its own, so that other programs do not depend on the Postgres driver. It needs Postgres
// 13 or later. Open creates its tables and functions in a schema of their own, "ponte" by default.
//
// # Durability
//
// When Append returns, the entries are as durable as a commit of the server. Views are committed without waiting for
// the disk: they survive the end of the program at once, and a crash of the server from the next other append on.
//
// # Leases
//
// An open store holds an advisory lock on a connection of its own. When this connection is gone, the sessions that it
// has acquired are free. The server notices the end of a process at once, and the loss of a machine or its network
// after Options.Lost. A store that has lost its connection connects again, and keeps the sessions that nobody has
// acquired in the meantime. Each append is checked against the token of the latest lease, so a writer that was
// presumed dead cannot append any more.
//
// The connection string must lead to the server itself, or to a pooler in session mode. A pooler in transaction mode
// (PgBouncer) does not keep the connection that holds the lock.
//
// # Watching
//
// Notifications of the server wake watches. They are sent after the append, outside of its transaction, because
// transactions with notifications wait for each other. If a notification is lost, a watch finds the entries after
// Options.Poll.
//
// # Blobs
//
// [Store.Blobs] keeps data by its hash, such as the large payloads of runs on Temporal.
//
// # Versions
//
// Open migrates tables of an older version, in a transaction. It refuses those of a newer version with
// [session.ErrVersion].
//
// # Errors
//
// A server that cannot be reached is an error that wraps [session.ErrUnavailable]. If the connection is lost during
// an append, the entries may have been appended or not. [session.Writer] finds out with its next append.
package pgstore
