// SPDX-License-Identifier: Apache-2.0

// Package pgstore keeps sessions in Postgres, so that programs on several machines can share them.
//
//	store, err := pgstore.Open(ctx, "postgres://user@db.internal/app", pgstore.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// It is a module of its own, so that programs without Postgres do not have its driver among their requirements. It needs Postgres 13 or
// later. The tables and functions are in a schema of their own, "ponte" by default, which Open makes.
//
// # Durability
//
// What has been appended is as durable as a commit of the server when Append returns. Views are committed without a wait for the disk:
// they survive the end of the program, and the end of the server from the next other append on.
//
// # Leases
//
// A store has a connection of its own, on which it holds an advisory lock for as long as it is open. The sessions that were acquired by way of it
// are free as soon as that connection is gone. When a process ends, the server notices at once; when a machine or its network is gone, the server
// notices after Options.Lost. A store whose connection was cut connects again, and goes on with the sessions that nobody has acquired in the meantime.
// Whoever was taken for dead cannot append any more, whatever he believes: each append is checked against the token of the latest lease.
//
// The connection string must lead to the server itself, or to a pooler in session mode: a pooler in transaction mode (PgBouncer) takes away the
// connection that holds the lock.
//
// # Watching
//
// A watch wakes up by a notification of the server. Notifications are sent after the append, outside of its transaction, because a transaction
// with a notification makes all others like it wait. If one is lost, a watch finds the entries when Options.Poll is over.
//
// # Blobs
//
// [Store.Blobs] keeps data by its hash, such as the large payloads of runs on Temporal.
//
// # Versions
//
// Open changes tables of an older version to the present one, in a transaction. It refuses those of a newer version with
// [session.ErrVersion].
//
// # Errors
//
// A server that cannot be reached is an error that wraps [session.ErrUnavailable]. If the connection is lost while entries are appended, they may have been
// appended or not; [session.Writer] finds out with the next append.
package pgstore
