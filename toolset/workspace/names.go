// SPDX-License-Identifier: Apache-2.0

package workspace

// The names of the tools.
const (
	ToolReadFile            = "read_file"
	ToolWriteFile           = "write_file"
	ToolEditFile            = "edit_file"
	ToolListFiles           = "list_files"
	ToolSearchFiles         = "search_files"
	ToolRunCommand          = "run_command"
	ToolGetTerminalOutput   = "get_terminal_output"
	ToolWaitForTerminalExit = "wait_for_terminal_exit"
	ToolKillTerminal        = "kill_terminal"
	ToolReleaseTerminal     = "release_terminal"
)
