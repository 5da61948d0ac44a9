// SPDX-License-Identifier: Apache-2.0

// Package chat is an ACP client for a terminal: it starts an agent as a child process, talks to it over pipes, shows what
// it says and does, asks the user for permissions, and lends it the user's files and terminals.
//
// The pieces: [Run] is the conversation; process is the agent's process; client handles what the agent asks for;
// permissions, terminals and the files of package files serve it; screen shows everything.
package chat
