// SPDX-License-Identifier: Apache-2.0

// Package pgstore keeps sessions in Postgres, where programs on several machines can share them.
//
//	store, err := pgstore.Open(ctx, "postgres://user@db.internal/app", pgstore.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// The package is a separate module, so other programs do not depend on the Postgres driver. It
// needs Postgres 13 or later, and a database in UTF-8. Open creates its tables and functions in a
// separate schema, "ponte" by default.
//
// # Durability
//
// When Append returns, the entries are as durable as a commit of the server. Views are committed
// without waiting for the disk: they survive the end of the program at once, and a crash of the
// server from the next other append on.
//
// # Leases
//
// An open store holds an advisory lock on a dedicated connection. When this connection is lost, the
// sessions that the store has acquired are free. The server notices the end of a process at once,
// and the loss of a machine or its network after Options.Lost. A store that has lost its connection
// reconnects, and keeps the sessions that were not acquired by others in the meantime. Each append
// is checked against the token of the latest lease, so a writer that was presumed dead cannot
// append any more. No clock decides who has a session, so the clocks of the machines may differ.
//
// A process that is stopped or hangs keeps its sessions as long as its machine answers for its
// connection. [session.Claim].Force takes one.
//
// The connection string must lead to the server itself, or to a pooler in session mode. Open
// refuses a pooler that shares connections between transactions or statements, such as PgBouncer
// with that pool_mode, because others would get the connection that holds the lock. Behind a pooler
// in session mode, the pooler must notice the loss of a machine or its network, by its own
// keepalive settings. Each store occupies one of its connections.
//
// If a standby takes over that has not received all transactions, those are lost, with their
// leases. Use synchronous replication, and an address with both servers and
// target_session_attrs=read-write.
//
// # Watching
//
// Notifications of the server wake watches. They are sent after the append, outside of its
// transaction, because transactions with notifications wait for each other. If a notification is
// lost, a watch finds the entries after Options.Poll.
//
// # Blobs
//
// [Store.Blobs] keeps data by its hash, such as the large payloads of runs on Temporal.
//
// # Versions
//
// Open migrates tables of an older version, in a transaction. Programs that have the older tables
// open continue. Open refuses tables of a newer version with [session.ErrVersion], and a schema
// that was renamed with [session.ErrInvalid], because the functions in it have its old name.
//
// # Errors
//
// A server that cannot be reached is an error that wraps [session.ErrUnavailable]. If the
// connection is lost during an append, the entries may have been appended or not. [session.Writer]
// finds out with its next append. Reading and acquiring are repeated when a connection is lost and
// the server can be reached.
//
// Transactions that the server aborts because of others, such as deadlocks and serialization
// failures, are repeated. A statement that exceeds a timeout of the server is an error that wraps
// [session.ErrBusy]. So is a migration that waits for a lock for more than ten seconds. A standby,
// or a role that may not write, is an error that wraps [session.ErrReadOnly].
package pgstore
