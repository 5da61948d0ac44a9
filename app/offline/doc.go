// SPDX-License-Identifier: Apache-2.0

// Package offline is a language model without a language model: a few rules that turn plain
// requests into tool calls. It needs no key, no network and no download, so everyone can see a
// whole agent at work on their own files, and tests can drive one deterministically.
//
// It is honest about what it is: it calls itself the offline demo model, and admits when it does
// not understand. The request "help" lists those that it understands. A request may ask for several
// things ("read a.txt, then replace foo with bar in it and run go test ./..."); quotes protect text
// that would otherwise be taken for grammar.
//
// A request is understood as a whole or refused as a whole, in two lines: every word of it is read
// by a rule, and nothing is dropped.
//
// The model calls only tools that the request offers. By itself it calls read_file, write_file,
// edit_file, run_command, list_files, search_files, undo_changes, find_definition, find_references,
// rename_symbol and get_diagnostics; "use TOOL {json}" calls any other. It makes one call per
// response, reports the findings of each call in the next response, and leaves out the steps that
// depend on a failed one.
//
// # State
//
// The model has none. It derives the progress of a turn from the history of the request: the turn
// begins at the last message of the user, its steps follow from that text alone, and the calls
// recorded since show which of them are done. So another process can resume a turn, and one Model
// serves any number of conversations at once.
package offline
