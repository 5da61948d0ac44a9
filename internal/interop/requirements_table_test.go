// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

// requirements are those of the protocol's documentation, chapter by chapter. A run of all tests fails if a test of the table did not run.
var requirements = []requirement{
	// Transport.
	{"transport.lines", mandatory, "a message is one line of JSON in UTF-8, and nothing else is written to standard output", []string{"TestStandardOutputIsTheProtocolsAlone"}},
	{"transport.not-json", mandatory, "a line that is not JSON is answered with -32700, and the connection goes on", []string{"TestTransport/a line that is not JSON", "TestTransport/a line that breaks off"}},
	{"transport.pieces", mandatory, "a line may come in any number of pieces", []string{"TestTransport/a line may come in many pieces"}},
	{"transport.blank", advisory, "blank lines and CRLF do no harm", []string{"TestTransport/a blank line", "TestTransport/lines may end with CRLF"}},
	{"transport.large", advisory, "large messages are taken, and those over a limit are refused by id", []string{"TestTransport/a prompt of 32 MiB is answered", "TestTransport/a message over the limit is refused by its id"}},
	{"transport.eof", mandatory, "the agent ends when its input does", []string{"TestShutdown/at the end of its input, idle", "TestShutdown/at the end of its input, in a turn", "TestTransport/the last line needs no end"}},
	{"transport.gone", mandatory, "nothing is left when the client is gone", []string{"TestShutdown/when its client is killed", "TestShutdown/when nobody reads its output any more"}},
	{"transport.signals", advisory, "the agent ends in order at a signal", []string{"TestShutdown/at a signal, in a turn: terminated", "TestShutdown/at a signal, in a turn: hangup"}},
	{"transport.remote", advisory, "the experimental transports carry the same messages", []string{"TestHTTPOfTypeScriptSDK", "TestWebSocketOfTypeScriptSDK"}},

	// JSON-RPC.
	{"rpc.version", mandatory, "only JSON-RPC 2.0 is spoken", []string{"TestJSONRPC/another version of JSON-RPC", "TestJSONRPC/no version of JSON-RPC"}},
	{"rpc.invalid", mandatory, "what is no message is answered with -32600", []string{"TestJSONRPC/a number", "TestJSONRPC/null", "TestJSONRPC/an empty object", "TestJSONRPC/an id that is an object"}},
	{"rpc.batch", mandatory, "batches are refused", []string{"TestJSONRPC/a batch", "TestJSONRPC/an empty batch"}},
	{"rpc.unknown-method", mandatory, "an unknown request is answered with -32601", []string{"TestJSONRPC/an unknown method"}},
	{"rpc.unknown-notification", mandatory, "an unknown notification is ignored", []string{"TestJSONRPC/an unknown notification", "TestJSONRPC/an unknown protocol notification"}},
	{"rpc.params", mandatory, "wrong parameters are answered with -32602", []string{"TestJSONRPC/parameters of the wrong type", "TestJSONRPC/parameters that lack a member", "TestJSONRPC/parameters that are an array"}},
	{"rpc.id", mandatory, "an answer has the id of its request, as it came", []string{"TestJSONRPC/the id comes back: \"text\"", "TestJSONRPC/the id comes back: -7"}},
	{"rpc.id-in-use", advisory, "an id that waits for an answer cannot be used again", []string{"TestJSONRPC/an id that is in use is refused"}},
	{"rpc.stray", mandatory, "answers to nothing are ignored", []string{"TestJSONRPC/an answer to nothing", "TestJSONRPC/an error to nothing"}},
	{"rpc.cancel-request", capability, "$/cancel_request ends a request; of an unknown one it is ignored", []string{"TestCancel/of the request", "TestJSONRPC/a cancelled request that there is not"}},

	// Extensibility.
	{"ext.unknown-members", mandatory, "members that nobody knows, _meta among them, are ignored", []string{"TestJSONRPC/members that nobody knows are ignored"}},
	{"ext.methods", mandatory, "an extension method that is not there is answered with -32601, and such a notification is ignored", []string{"TestJSONRPC/an unknown extension method", "TestJSONRPC/an unknown extension notification"}},
	{"ext.own", mandatory, "the agent adds no members of its own to what the schema describes", []string{"TestTypeScriptSDK", "TestStoredSessions"}},
	{"ext.trace", advisory, "the trace in _meta goes on in what the agent asks", []string{"TestTraceOfTypeScriptSDK"}},

	// Initialization.
	{"init.first", mandatory, "nothing but initialize is answered before it", []string{"TestInitialize/requests before it are refused"}},
	{"init.version", mandatory, "the version is the client's if it is supported, and otherwise the agent's own", []string{"TestInitialize/an unknown version is answered with one that the agent speaks"}},
	{"init.capabilities", mandatory, "the answer has the agent's capabilities and ways to log in", []string{"TestInitialize/the agent says who it is and what it can do"}},
	{"init.info", advisory, "the answer says who the agent is", []string{"TestInitialize/the agent says who it is and what it can do"}},
	{"init.pipelined", advisory, "requests right after it wait for it", []string{"TestInitialize/requests right behind it wait for it"}},
	{"init.wrong", mandatory, "wrong parameters are refused, and the client may try again", []string{"TestInitialize/parameters that it cannot do without"}},
	{"init.client", mandatory, "what the client does not announce is not asked for", bySDKs("a client that can do nothing is asked for nothing")},

	// Authentication.
	{"auth.required", capability, "a session before a login is answered with -32000 and the ways to log in", []string{"TestFeaturesOfTypeScriptSDK/a session begins after a login", "TestFeaturesOfPythonSDK/a session begins after a login"}},
	{"auth.authenticate", capability, "authenticate logs in by a method that was announced, and by no other", []string{"TestFeaturesOfTypeScriptSDK/a session begins after a login"}},
	{"auth.logout", capability, "after a logout a login is needed again", []string{"TestLogoutOfTypeScriptSDK"}},

	// Session setup.
	{"session.new", mandatory, "each session has an id of its own", []string{"TestSession/ids are never the same"}},
	{"session.cwd", mandatory, "the working directory is absolute", []string{"TestSession/a working directory that is relative", "TestSession/no working directory"}},
	{"session.directories", capability, "additional directories are absolute", []string{"TestSession/another directory that is relative"}},
	{"session.order", mandatory, "nothing is sent about a session before the client knows it", []string{"TestSession/nothing is sent about a session before its answer"}},
	{"session.parallel", mandatory, "sessions know nothing of each other", bySDKs("two sessions work side by side")},
	{"session.mcp-stdio", mandatory, "MCP servers over standard input and output are connected", []string{"TestClientsMCPServers/one over stdio has its tools in the session"}},
	{"session.mcp-broken", advisory, "an MCP server that fails does not fail the session", []string{"TestClientsMCPServers/one that fails is not a failed session"}},
	{"session.load", capability, "load replays the whole conversation before its answer", []string{"TestStoredSessions/a load replays the conversation before it is answered"}},
	{"session.load-unknown", capability, "load and resume of an unknown session are answered with -32002", []string{"TestStoredSessions/what cannot be opened again", "TestSession/a load of an unknown session"}},
	{"session.resume", capability, "resume replays nothing", []string{"TestStoredSessions/a resume replays nothing"}},
	{"session.list", capability, "list has the sessions of a directory in a stable order, and an empty list where there are none", []string{"TestStoredSessions/a list has the sessions of a directory, the newest first"}},
	{"session.list-pages", capability, "list has pages, and refuses cursors that it has not made", []string{"TestStoredSessions/a list has pages"}},
	{"session.delete", capability, "a deleted session is gone; deleting it again succeeds", []string{"TestStoredSessions/a deleted session is gone"}},
	{"session.close", capability, "close cancels the turn and frees the session", append(bySDKs("a session that was closed is gone"), "TestStoredSessions/a close cancels the turn", "TestStoredSessions/a closed session can be loaded, and not prompted")},
	{"session.held", advisory, "programs share a session, and a turn that runs in another program is refused by name", []string{"TestStoredSessions/programs share a session"}},
	{"session.title", advisory, "a session gets a title, and the client is told", []string{"TestStoredSessions/a session has a title after its first prompt"}},

	// Modes, options, commands.
	{"modes.set", capability, "a mode is set, and an unknown one is answered with -32602", []string{"TestModesAndOptions/a mode that is set is the option's value", "TestSession/an unknown mode"}},
	{"modes.told", capability, "a mode that the agent changes is told", []string{"TestModesAndOptions/what the agent changes is told"}},
	{"options.set", capability, "an option that is set is answered with all options, and an unknown one with -32602", []string{"TestModesAndOptions/an option is answered with all options"}},
	{"options.told", capability, "options that the agent changes are told", []string{"TestModesAndOptions/what the agent changes is told"}},
	{"commands.told", advisory, "commands are told after the session's answer", []string{"TestModesAndOptions/commands are told after the session's answer"}},
	{"commands.run", advisory, "a command is a prompt that begins with a slash", []string{"TestModesAndOptions/a command is carried out as a prompt"}},

	// Prompt turn.
	{"prompt.session", mandatory, "a prompt of an unknown session is refused", append(bySDKs("a prompt of an unknown session is refused"), "TestPrompt/an unknown session")},
	{"prompt.text", mandatory, "text and links are understood", []string{"TestPrompt/text is understood", "TestPrompt/a link is understood"}},
	{"prompt.embedded", capability, "embedded resources, images and audio are understood if they were announced", []string{"TestPrompt/an embedded resource is understood", "TestFeaturesOfTypeScriptSDK/a prompt holds links, resources and images", "TestFeaturesOfPythonSDK/a prompt holds links, resources and images"}},
	{"prompt.unsupported", mandatory, "content that was not announced is answered with -32602", []string{"TestPrompt/an image, which was not announced", "TestPrompt/audio, which was not announced", "TestPrompt/a block of an unknown kind", "TestPrompt/no blocks"}},
	{"prompt.busy", mandatory, "a prompt while a turn runs is refused and does not disturb it", append(bySDKs("a prompt beside another of its session is refused"), "TestPrompt/of two in one write the first runs and the second is refused as busy")},
	{"prompt.order", mandatory, "all updates of a turn come before its answer, and none after it", []string{"TestPrompt/the answer is behind all updates"}},
	{"prompt.stop", mandatory, "the answer says why the turn ended", []string{"TestEndsOfTurns/end_turn", "TestEndsOfTurns/max_tokens", "TestEndsOfTurns/max_turn_requests", "TestEndsOfTurns/refusal"}},
	{"prompt.error", mandatory, "a turn that fails is answered with an error for people and for programs", []string{"TestEndsOfTurns/an error is one line for people and a kind for programs"}},
	{"prompt.text-kept", mandatory, "text of all kinds comes back as it was", append(bySDKs("text of all kinds comes back as it was"), "TestTransport/text that is not UTF-8 does no harm")},

	// Cancellation.
	{"cancel.stop", mandatory, "a cancelled turn is answered with the stop reason cancelled, and the next one works", bySDKs("a cancelled turn ends at once, and the next one works")},
	{"cancel.race", mandatory, "a cancel in the same write as its prompt cancels it", []string{"TestCancel/in the same write as its prompt", "TestCancel/many prompts, each with its cancel, in the same write"}},
	{"cancel.idle", mandatory, "a cancel where nothing runs is ignored", []string{"TestCancel/of an idle session", "TestCancel/of an unknown session"}},
	{"cancel.question", mandatory, "a cancel ends the question that is open", bySDKs("cancelling ends the question that is open")},
	{"cancel.command", mandatory, "a cancel ends the command that runs, and its terminal is released", append(bySDKs("cancelling ends the command that is running"), "TestCancel/releases the terminal although the client does not answer the kill")},

	// Tool calls and permission.
	{"tools.shown", mandatory, "a tool call is announced once, with a kind and places, and updated until it has ended", bySDKs("a file is read")},
	{"tools.diff", advisory, "a change is shown as a diff with the old text", bySDKs("a write that the user allows changes the file and shows what changes")},
	{"tools.failed", mandatory, "a call that fails says so", bySDKs("the exit code of a command that fails is told")},
	{"permission.reject", mandatory, "what is rejected is not done", bySDKs("a write that the user rejects changes nothing")},
	{"permission.cancelled", mandatory, "a question that is not answered counts as a no", bySDKs("a question that is closed without an answer changes nothing")},
	{"permission.always", advisory, "what is allowed or rejected always is asked once", append(bySDKs("what the user always allows is asked once"), bySDKs("what the user always rejects is asked once")...)},

	// The client's files and terminals.
	{"fs.read", capability, "files are read through the client, and parts of them", append(bySDKs("a file is read"), bySDKs("part of a file is read")...)},
	{"fs.write", capability, "files are written through the client", bySDKs("a write that the user allows changes the file and shows what changes")},
	{"terminal.live", capability, "a command runs in the client's terminal, shown while it runs, and released", bySDKs("a command runs in the client's terminal, shown live")},
	{"terminal.exit", capability, "the exit code comes from the client", bySDKs("the exit code of a command that fails is told")},

	// Questions.
	{"elicitation.form", capability, "a form goes to clients that show forms, and its answer is used", []string{"TestFeaturesOfTypeScriptSDK/a form is shown and its answer comes back", "TestFeaturesOfPythonSDK/a form is shown and its answer comes back"}},
	{"elicitation.url", capability, "an address is opened by clients that can, and they are told when it is done with", []string{"TestFeaturesOfTypeScriptSDK/an address is opened, and its end is told"}},
	{"elicitation.without", advisory, "clients without forms are offered the choices", []string{"TestFeaturesOfTypeScriptSDK/a client without forms is offered the choices"}},

	// Updates.
	{"updates.all", capability, "every kind of update of the schema is sent to those who take it", []string{"TestEveryStableUpdateIsSent"}},
	{"updates.usage", advisory, "the client is told how full the context is, and the cost", []string{"TestEndsOfTurns/the context and the cost are told"}},
	{"updates.optin", capability, "notices and compactions go to clients that have announced them only", []string{"TestEndsOfTurns/notices and compactions go to clients that take them"}},

	// What is not stable.
	{"unstable.updates", capability, "updates that are not stable go to clients that have announced them", []string{"TestEveryUnstableUpdateIsSent"}},
	{"unstable.methods", capability, "sessions are forked, archived, named, and their status told", []string{"TestUnstableMethodsOfTypeScriptSDK"}},
}
