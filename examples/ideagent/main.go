// SPDX-License-Identifier: Apache-2.0

// Ideagent is a coding agent for IDEs, and a sample of how to make one with Ponte.
//
// Usage:
//
//	ideagent [-model MODEL]                          speak ACP on standard input and output, for an IDE
//	ideagent chat [-dir DIR] [-yes] [flags] [PROMPT] talk to it in a terminal
//	ideagent web [-dir DIR] [-addr ADDRESS]          serve it as a page
//	ideagent mcp [-dir DIR]                          be a tool for other agents
//	ideagent proxy [flags] AGENT [ARGUMENT...]       stand between an IDE and another agent, and record what they say
//	ideagent sessions list|show|export|import|purge  look at the sessions that it keeps, move and remove them
//	ideagent eval show|compare|check                 look at reports of evals
//	ideagent login [PROVIDER]                        keep an API key in the system's keyring; logout forgets it
//	ideagent doctor                                  find out what is wrong, and how to mend it
//	ideagent version                                 print the version
//
// An IDE starts it without arguments. Which model answers is said on standard error; the default is the model of a key
// in the environment, else a local Ollama, else an offline demo model that needs nothing and understands plain requests:
//
//	ideagent chat -dir ~/src/project 'search TODO, then run go test ./...'
//
// The exit code is 0 if it is done, 1 after an error or a turn of chat that did not end by itself,
// 2 after a mistake in the command line, 5 if chat denied something, and 130 if interrupted.
package main

import (
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/examples/ideagent/internal/program"
)

func main() { app.Main(program.Config()) }
