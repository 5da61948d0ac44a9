// SPDX-License-Identifier: Apache-2.0

// Package app makes a program of an agent: a command line, a terminal, an editor's agent, a web
// page and an MCP server, on one host and one store of sessions.
//
//	func main() {
//		all.Main(all.Config[any, string]{Name: "desk", Agent: desk})
//	}
//
// The program then answers a question, holds a conversation, and more:
//
//	desk "Where is order 17?"   answers once, in the terminal
//	desk chat                   holds a conversation there
//	desk acp                    is an agent for editors
//	desk web                    serves a page
//	desk mcp                    is an MCP server
//	desk sessions list          shows what is kept
//	desk doctor                 finds out what is wrong, and how to mend it
//	desk completion bash        completes its commands in a shell
//
// # Surfaces
//
// Package app links no surface. Those of a program are in [Config].Surfaces: see packages chat,
// editor, web and mcp below this one. Package all has all of them. A surface serves any agent: what
// it needs are files and commands only if the agent's tools do.
//
// # Defaults
//
//   - A model: of the flag -model, of the configuration file, of a key in the environment or in the
//     keyring, or of a local Ollama. An agent that was made with a model keeps it unless the user
//     names another.
//   - Sessions that outlive the program, in SQLite in the user's state directory, if package sqlite
//     below this one is linked. Otherwise they are in memory.
//   - A configuration file: see package config.
//   - Keys in the system's keyring, if package keyring below this one is linked, or in a file that
//     only the user can read: "desk login".
//
// The command line is one of cobra. Flags may be written with one dash or two.
package app
