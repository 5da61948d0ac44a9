// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/internal/serverfile"
	"github.com/ponte-go/ponte/toolset"
)

// userFile is the form of a user's file, for its schema. [Keys] has the same keys.
type userFile struct {
	Schema          string                         `json:"$schema,omitempty" jsonschema:"description=Schema of this file\\, for editors"`
	Model           string                         `json:"model,omitempty" jsonschema:"description=The model that answers\\, as PROVIDER:NAME\\, or offline,pattern=^(offline|[^:]+:.+)$"`
	Models          []string                       `json:"models,omitempty" jsonschema:"description=Further models to choose from in a session,uniqueItems=true"`
	Thinking        string                         `json:"thinking,omitempty" jsonschema:"description=How much the model thinks\\, if it has levels"`
	Mode            string                         `json:"mode,omitempty" jsonschema:"description=The mode in which sessions begin,default=ask"`
	Instructions    string                         `json:"instructions,omitempty" jsonschema:"description=Text that is added to the agent's instructions"`
	Permissions     *approval.Config               `json:"permissions,omitempty" jsonschema:"description=What is allowed\\, denied and asked about"`
	Always          []Always                       `json:"always,omitempty" jsonschema:"description=What was answered with always in this project. The program writes it"`
	Files           string                         `json:"files,omitempty" jsonschema:"description=Where files are read and written,default=client"`
	Terminal        string                         `json:"terminal,omitempty" jsonschema:"description=Where commands run,default=client"`
	Env             []string                       `json:"env,omitempty" jsonschema:"description=Names of variables that commands get. * matches any text"`
	Sandbox         *bool                          `json:"sandbox,omitempty" jsonschema:"description=Whether commands on this machine run in a sandbox. Without this key they do where it is possible"`
	MCPServers      map[string]serverfile.MCP      `json:"mcpServers,omitempty" jsonschema:"description=MCP servers by name"`
	LanguageServers map[string]serverfile.Language `json:"languageServers,omitempty" jsonschema:"description=Changes of language servers by name"`
	Prompts         string                         `json:"prompts,omitempty" jsonschema:"description=The directory of your prompts\\, relative to this file,pattern=\\S"`
	Encrypt         string                         `json:"encrypt,omitempty" jsonschema:"description=Where the key is that sessions are encrypted with: keyring\\, env:NAME or a file\\, relative to this file,pattern=\\S"`
	Bare            bool                           `json:"bare,omitempty" jsonschema:"description=Offer only the tools for files\\, commands and MCP servers"`
}

// projectFile is the form of a project's file.
type projectFile struct {
	Schema      string           `json:"$schema,omitempty" jsonschema:"description=Schema of this file\\, for editors"`
	Permissions *approval.Config `json:"permissions,omitempty" jsonschema:"description=What is denied and asked about. A project cannot allow anything"`
}

// schemaKey is the key by which editors find a schema. It is not read.
const schemaKey = "$schema"

// UserSchema returns the JSON schema of a user's file, for editors. Comments and trailing commas,
// which the file may have, are up to the editor.
func UserSchema() ([]byte, error) {
	return schemaOf(reflect.TypeFor[userFile](), "Configuration of the user", nil)
}

// ProjectSchema returns the JSON schema of a project's file.
func ProjectSchema() ([]byte, error) {
	return schemaOf(reflect.TypeFor[projectFile](), "Configuration of a project", map[reflect.Type][]any{
		reflect.TypeFor[approval.Mode]():   {approval.ModeAsk, approval.ModeReadOnly},
		reflect.TypeFor[toolset.Verdict](): {toolset.VerdictDeny, approval.VerdictAsk},
	})
}

// enums are the values of types whose values the reflector cannot see.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[approval.Mode]():   {approval.ModeAsk, approval.ModeReadOnly, approval.ModeAuto},
	reflect.TypeFor[toolset.Verdict](): {toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk},
}

func schemaOf(t reflect.Type, title string, narrower map[reflect.Type][]any) ([]byte, error) {
	r := jsonschema.Reflector{DoNotReference: true, Anonymous: true, ExpandedStruct: true}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		values := narrower[t]
		if values == nil {
			values = enums[t]
		}
		if values == nil {
			return nil
		}
		return &jsonschema.Schema{Type: "string", Enum: values}
	}
	s := r.ReflectFromType(t)
	s.Title = title
	patterns := map[string]string{"models": `^(offline|[^:]+:.+)$`, "env": `^[^= \t\r\n]+$`}
	for name, pattern := range patterns {
		if p, ok := s.Properties.Get(name); ok {
			p.Items.Pattern = pattern
		}
	}
	for _, k := range Keys() {
		if p, ok := s.Properties.Get(k.Name); ok {
			for _, v := range k.Values {
				p.Enum = append(p.Enum, v)
			}
		}
	}
	if p, ok := s.Properties.Get("permissions"); ok {
		describeRules(p)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	return append(data, '\n'), err
}

// described has what the keys of a rule match, for people who write one.
var described = map[string]string{
	"decision": "What the rule decides. deny wins over ask, and ask over allow",
	"tool":     "The name of a tool. * matches any characters",
	"server":   "The name of an MCP server. * matches any characters",
	"path":     "Files that are changed. ** matches any number of directories",
	"read":     "Files that are read",
	"command":  "The first words of a command, such as go test",
	"dir":      "The directory of a command that is allowed exactly",
	"host":     "A host. A leading *. matches all below it",
	"sandbox":  "Where a command runs",
	"reason":   "What the model is told with a denial",
}

func describeRules(permissions *jsonschema.Schema) {
	rules, ok := permissions.Properties.Get("rules")
	if !ok {
		return
	}
	for p := rules.Items.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = described[p.Key]
		if p.Key == "sandbox" {
			p.Value.Enum = []any{approval.SandboxInside, approval.SandboxOutside}
		}
	}
}
