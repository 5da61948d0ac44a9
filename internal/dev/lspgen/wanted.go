// SPDX-License-Identifier: Apache-2.0

package main

// wanted are the types that are generated, in the order of the output, each with the fields that it
// has; none means all. What a field refers to that is not here is left as JSON.
var wanted = []struct {
	name   string
	fields []string
}{
	{name: "Position"}, {name: "Range"}, {name: "Location"}, {name: "LocationLink"},
	{name: "TextDocumentIdentifier"}, {name: "VersionedTextDocumentIdentifier"},
	{
		name: "TextDocumentItem",
	}, {name: "TextDocumentPositionParams", fields: []string{"TextDocument", "Position"}},
	{name: "DidOpenTextDocumentParams"}, {name: "DidCloseTextDocumentParams"},
	{name: "FileEvent"}, {name: "FileChangeType"}, {name: "DidChangeWatchedFilesParams"},
	{name: "WorkspaceFolder"}, {name: "ServerInfo"},
	{name: "InitializeResult", fields: []string{"Capabilities", "ServerInfo"}},
	{name: "ServerCapabilities", fields: []string{
		"PositionEncoding", "TextDocumentSync", "HoverProvider", "DefinitionProvider", "TypeDefinitionProvider",
		"ImplementationProvider", "ReferencesProvider", "DocumentSymbolProvider", "CodeActionProvider",
		"WorkspaceSymbolProvider", "DocumentFormattingProvider", "RenameProvider", "ExecuteCommandProvider",
		"CallHierarchyProvider", "DiagnosticProvider",
	}},
	{name: "SymbolKind"}, {name: "DocumentSymbol"}, {name: "SymbolInformation"},
	{name: "Hover", fields: []string{"Range"}}, {name: "MarkupContent"},
	{
		name: "CallHierarchyItem",
	}, {name: "CallHierarchyIncomingCall"}, {name: "CallHierarchyOutgoingCall"},
	{name: "DiagnosticSeverity"}, {name: "DiagnosticRelatedInformation"}, {name: "Diagnostic"},
	{name: "PublishDiagnosticsParams"},
	{name: "TextEdit"}, {name: "OptionalVersionedTextDocumentIdentifier"},
	{name: "CreateFileOptions"}, {name: "RenameFileOptions"}, {name: "DeleteFileOptions"},
	{name: "ChangeAnnotation"},
	{name: "WorkspaceEdit"}, {name: "ApplyWorkspaceEditParams", fields: []string{"Label", "Edit"}},
	{name: "ApplyWorkspaceEditResult"},
	{name: "RenameParams", fields: []string{"TextDocument", "Position", "NewName"}},
	{
		name: "FormattingOptions",
	}, {name: "DocumentFormattingParams", fields: []string{"TextDocument", "Options"}},
	{
		name: "Command",
	}, {name: "CodeActionDisabled"}, {name: "CodeAction"}, {name: "CodeActionContext"},
	{name: "CodeActionParams", fields: []string{"TextDocument", "Range", "Context"}},
	{name: "ExecuteCommandParams", fields: []string{"Command", "Arguments"}},
	{name: "ConfigurationParams"}, {name: "ConfigurationItem"},
}
