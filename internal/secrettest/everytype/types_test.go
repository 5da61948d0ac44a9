// SPDX-License-Identifier: Apache-2.0

package everytype_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/secrettest"
)

var update = flag.Bool("update", false, "write the table of types")

const table = "exported_test.go"

func TestTypesAreListed(t *testing.T) {
	want, err := secrettest.Exported("../../..", "", "everytype_test")
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(table, want, 0o644))
	}
	got, err := os.ReadFile(table)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "go test ./internal/secrettest/everytype -update")
}

// harmless are fields whose names look as if they held secrets, and why they hold none.
var harmless = map[string]string{
	"acp.AuthMethodTerminal.Env":       "what an agent tells every client",
	"acp.BlobResourceContents.URI":     content,
	"acp.ElicitationURLMode.URL":       content,
	"acp.ImageContent.URI":             content,
	"acp.ResourceLink.URI":             content,
	"acp.TextResourceContents.URI":     content,
	"acpbridge.PermissionRequest.Env":  decided,
	"acpclient.Elicitation.URL":        content,
	"acpclient.RegistryArchive.Env":    "the registry is public",
	"acpclient.RegistryPackage.Env":    "the registry is public",
	"anthropicmodel.Profile.MediaURLs": names,
	"geminimodel.Profile.MediaURLs":    names,
	"genkitmodel.Dialect.MediaURLs":    names,
	"local.Config.PassEnv":             names,
	"mcptoolset.OAuth.ClientURL":       "a public document",
	"mcptoolset.flight.token":          "names a call in notifications of its progress",
	"model.CommandLine.Env":            decided,
	"model.Effect.Env":                 decided,
	"model.Driver.Env":                 names,
	"model.Info.MediaURLs":             names,
	"model.Part.URL":                   content,
	"modelwrap.FetchError.URL":         "it is cleaned: see TestFetchedURLsArePrintedWithoutTheirSecrets",
	"model.NativeSource.URL":           content,
	"chat.Config.Env":                  names,
	"config.User.Env":                  names,
	"config.Problem.Key":               names,
	"openaimodel.Profile.KeyHeader":    names,
	"openaimodel.Profile.MediaURLs":    names,
	"openaimodel.endpoint.header":      "the key is added to a copy",
	"session.Entry.Key":                "names a record",
	"spend.Error.Key":                  "names who spends",
	"toolset.Question.URL":             content,
	"transcript.keptMessage.key":       "names a record",
	"unstable.PlanFile.URI":            content,
	"view.Content.URI":                 content,
	"webbridge.secrets.cookie":         names,
	"webfetch.Meta.URL":                content,
	"websearch.Result.URL":             content,
	"workspace.Command.Env":            decided,
}

const (
	content = "a part of the conversation, which is shown to people"
	decided = "a part of what a person decides about"
	names   = "names or kinds, no values"
)

// formats are types whose JSON has secrets, and why it must.
var formats = map[string]string{
	"acp.CreateTerminalRequest":      message,
	"acp.EnvVariable":                message,
	"acp.HTTPHeader":                 message,
	"acp.LoadSessionRequest":         message,
	"acp.MCPServer":                  message,
	"acp.MCPServerHTTP":              message,
	"acp.MCPServerSSE":               message,
	"acp.MCPServerStdio":             message,
	"acp.NewSessionRequest":          message,
	"acp.ResumeSessionRequest":       message,
	"unstable.ForkSessionRequest":    message,
	"unstable.ListProvidersResponse": message,
	"unstable.ProviderCurrentConfig": message,
	"unstable.ProviderInfo":          message,
	"unstable.SetProviderRequest":    message,
	"acpclient.RegistryAgent":        "it is written to the user's file",
	"acpclient.RegistryDistribution": "it is written to the user's file",
	"acpclient.RegistryProgram":      "it is written to the user's file",
}

const message = "a message of the protocol, which is sent"

// doubles are packages for tests, which keep what they are given.
var doubles = []string{"acptest", "modeltest", "workspacetest", "toolsettest", "sessiontest", "enginetest"}

func pool() []reflect.Type {
	return slices.DeleteFunc(slices.Clone(exported), func(t reflect.Type) bool {
		pkg, _, _ := strings.Cut(t.String(), ".")
		return slices.Contains(doubles, pkg)
	})
}

func TestNoTypeShowsSecrets(t *testing.T) {
	m := &secrettest.Maker{Pool: pool(), Harmless: func(field string) bool { return harmless[field] != "" }}
	planted := 0
	for _, of := range m.Pool {
		if of.Kind() == reflect.Interface {
			continue
		}
		for m.N = range 6 { // what interfaces hold
			m.Seen = map[string]bool{}
			v, has := m.Make(of)
			if !has {
				break
			}
			planted++
			values := map[string]any{"pointer": v.Addr().Interface()}
			if !secrettest.Locks(of) {
				values["value"], values["in a field"], values["in a list"] = v.Interface(), struct{ V any }{v.Interface()}, []any{v.Interface()}
			}
			for how, value := range values {
				leaks := secrettest.Ways(value)
				if formats[of.String()] != "" {
					leaks = slices.DeleteFunc(leaks, func(way string) bool {
						return way == "encoding/json" || way == "slog JSON" && how != "value" && how != "pointer"
					})
				}
				require.Empty(t, leaks, "%s of %s (%d): these ways of printing show a field whose name is that of a secret: %v. "+
					"Hide it, as with a method Format, or name the field in harmless if it is none",
					how, of, m.N, slices.Sorted(maps.Keys(m.Seen)))
			}
		}
	}
	require.Greater(t, planted, 100)
}

func TestExceptionsAreNeeded(t *testing.T) {
	m := &secrettest.Maker{Pool: pool(), Seen: map[string]bool{}}
	for _, of := range m.Pool {
		for m.N = range 6 {
			if of.Kind() != reflect.Interface {
				m.Make(of)
			}
		}
	}
	for field := range harmless {
		require.True(t, m.Seen[field], field)
	}
	names := map[string]bool{}
	for _, of := range exported {
		names[of.String()] = true
	}
	for name := range formats {
		require.True(t, names[name], name)
	}
}
