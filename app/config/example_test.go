// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/app/config"
)

// A mistake is named with its place, and what was probably meant.
func ExampleParseUser() {
	user, err := config.ParseUser("config.json", []byte(`{
  // the model that answers
  "model": "openai:gpt-5-mini",
  "env": ["PATH"],
}`))
	fmt.Println(user.Model, user.Env, err)
	_, err = config.ParseUser("config.json", []byte("{\n  \"modle\": \"openai:gpt-5-mini\"\n}"))
	fmt.Println(strings.Split(err.Error(), "?")[0] + "?")
	// Output:
	// openai:gpt-5-mini [PATH] <nil>
	// config.json:2:3: "modle": unknown key; did you mean model?
}

// A file of a project can only forbid, or have the user asked.
func ExampleReadProject() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, config.ProjectFile("desk"))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	rules := `{"permissions": {"rules": [{"decision": "deny", "path": "secrets/**"}]}}`
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	project, err := config.ReadProject("desk", dir)
	fmt.Println(project.Permissions.Rules[0].String(), err)
	// Output: deny path "secrets/**" <nil>
}

// Editors complete and check the file with the schema.
func ExampleUserSchema() {
	data, err := config.UserSchema()
	fmt.Println(json.Valid(data), err)
	// Output: true <nil>
}

func ExampleKeys() {
	for _, k := range config.Keys() {
		if k.Project {
			fmt.Println(k.Name, "is", k.Want)
		}
	}
	// Output: permissions is an object
}
