// SPDX-License-Identifier: Apache-2.0

// Package acpclient drives agents that speak the Agent Client Protocol, such as Claude Code, Codex,
// Gemini CLI or another program that calls acpbridge.Serve. It starts the agent, opens sessions,
// shows what the agent does, and serves it files and commands.
//
//	client, err := acpclient.Start(ctx, acpclient.Command{Path: "codex-acp"}, acpclient.Config{Permission: ask})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	session, err := client.NewSession(ctx, acpclient.SessionConfig{Cwd: dir})
//	if err != nil {
//		return err
//	}
//	turn, err := session.Say(ctx, "Why does the build fail?")
//	if err != nil {
//		return err
//	}
//	fmt.Println(turn.Text())
//
// # Entities
//
// The updates of a session become entities of package view: messages, thoughts, tool calls, the
// plan, slash commands, options, usage. [Session.Snapshot] returns the current ones, and
// [Session.Cursor] follows them.
//
// # Permission
//
// [Config.Permission] answers the agent's questions. Without it the answer is no. If a
// [workspace.Workspace] is served to the agent, it is also asked about every write and every
// command, unless the agent has asked in this turn, has shown exactly this write or command, and
// was allowed to. See [PermissionRequest].
//
// # Errors
//
// An agent's error is an [*AgentError] with its code and details. A process that has ended is a
// [*ProcessError] with its exit code and its last lines of standard error. A method that the agent
// does not offer is an [*UnsupportedError], and nothing is sent. An answer that breaks the protocol
// is a [*ProtocolError]. [Client.Problems] returns minor problems. Every wait ends with its
// context.
//
// # Concurrency
//
// Clients and sessions are safe for concurrent use. A session has one turn at a time. Callbacks run
// on goroutines of their own, possibly concurrently, and may use the client. They must not call
// [Client.Close], which waits for them.
//
// # Agents by name
//
// [Open] starts an agent by its name. The names are in the format of the ACP registry, which also
// describes how to install agents:
//
//	agents, err := acpclient.LoadRegistry()
//	if err != nil {
//		return err
//	}
//	a, err := agents.Find("claude-code")
//	if err != nil {
//		return err
//	}
//	var store acpclient.AgentStore
//	if err := store.Install(ctx, a, os.Stderr); err != nil {
//		return err
//	}
//	command, err := store.Command(a)
//
// [BuiltinRegistry] is a copy of part of the registry, pinned to the versions that this package was
// tested with. [LoadRegistry] adds the user's file, see [RegistryFile]. Its entries replace entries
// of the copy. It may be the registry's own file, or the user's selection of it. Nothing is
// fetched.
//
// [LoadRegistry], [Registry.Find] and [AgentStore.Command] download nothing and run nothing.
// [AgentStore.Install] runs npm or uv, or downloads the archive of a binary over HTTPS and checks
// its SHA-256. It is called by the program, never by this package. Every package must name its
// exact version.
//
// A registry's file determines what runs, so unknown parts of it are errors: paths that leave the
// archive, packages without a version or from an address, environment variables that make other
// code run, anything unknown in a distribution. Unknown members of the file and of an agent's entry
// only describe it, and are ignored.
//
// # Agents inside agents
//
// [Tool] makes such an agent a tool of another agent, and [NewModel] makes it the model of one,
// which then can be a sub-agent like any other, or have a typed output:
//
//	reviewer := acpclient.Tool[Deps]("review", "Have Claude Code review the last commit.", acpclient.Agent{
//		Name:    "reviewer",
//		Command: acpclient.Command{Path: "claude-agent-acp"},
//	})
package acpclient
