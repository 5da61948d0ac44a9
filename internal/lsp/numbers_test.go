// SPDX-License-Identifier: Apache-2.0

package lsp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
)

// What servers send as numbers means what version 3.17 of the protocol says.
func TestNumbersOfTheProtocol(t *testing.T) {
	// The kinds in the order of the specification, which counts them from 1.
	kinds := []lsp.SymbolKind{
		lsp.SymbolFile, lsp.SymbolModule, lsp.SymbolNamespace, lsp.SymbolPackage, lsp.SymbolClass, lsp.SymbolMethod, lsp.SymbolProperty, lsp.SymbolField, lsp.SymbolConstructor,
		lsp.SymbolEnum, lsp.SymbolInterface, lsp.SymbolFunction, lsp.SymbolVariable, lsp.SymbolConstant, lsp.SymbolString, lsp.SymbolNumber, lsp.SymbolBoolean, lsp.SymbolArray,
		lsp.SymbolObject, lsp.SymbolKey, lsp.SymbolNull, lsp.SymbolEnumMember, lsp.SymbolStruct, lsp.SymbolEvent, lsp.SymbolOperator, lsp.SymbolTypeParameter,
	}
	for i, kind := range kinds {
		require.EqualValues(t, i+1, kind)
	}
	for i, severity := range []lsp.DiagnosticSeverity{lsp.SeverityError, lsp.SeverityWarning, lsp.SeverityInformation, lsp.SeverityHint} {
		require.EqualValues(t, i+1, severity)
	}
	events, err := json.Marshal([]lsp.FileChangeType{lsp.FileCreated, lsp.FileChanged, lsp.FileDeleted})
	require.NoError(t, err)
	require.Equal(t, "[1,2,3]", string(events))
}

// Only the answer that the text has changed meanwhile is one to ask again.
func TestModified(t *testing.T) {
	require.True(t, lsp.Modified(&lsp.ResponseError{Code: -32801}))
	require.False(t, lsp.Modified(&lsp.ResponseError{Code: -32800}))
	require.False(t, lsp.Modified(&lsp.ResponseError{Code: -32802}))
	require.False(t, lsp.Modified(lsp.ErrClosed))
	require.False(t, lsp.Modified(nil))
}
