// SPDX-License-Identifier: Apache-2.0

// Package config reads the configuration files of programs: the user's file, which may set
// everything, and the project's, which may only add restrictions.
package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/internal/strictjson"
	"github.com/ponte-go/ponte/toolset"
)

// Side is where something happens: in the client, which is the user's editor, or on this machine.
type Side string

// Sides.
const (
	Client        Side = "client"          // in the client, or not at all
	ClientOrLocal Side = "client-or-local" // in the client, or on this machine if the client cannot
	Local         Side = "local"           // on this machine
)

// User is the configuration of a user. The zero value leaves everything as it is without a file.
type User struct {
	// File is the file that it was read from, empty if there is none.
	File string

	Model        string   // that answers, as PROVIDER:NAME
	Models       []string // that users can choose from, besides Model
	Thinking     string   // the level that sessions begin with
	Mode         string   // the id of the mode that sessions begin in
	Instructions string   // are added to the agent's own
	Files        Side     // where files are read and written
	Terminal     Side     // where commands run
	Env          []string // names of variables that commands get
	Sandbox      *bool    // commands on this machine run in one; nil: where it is possible
	Prompts      string   // absolute, unless it is empty
	Encrypt      string   // where the key of sessions is: keyring, env:NAME or an absolute path
	Bare         bool
	Permissions  approval.Config
	Always       []Always // what was answered with "always in this project"

	servers, code func() []byte    // documents, which may have secrets: see MCPServers and LanguageServers
	places        map[string]place // of the keys, by name
}

type place struct{ line, column int }

// Project is the configuration of a project. Its rules deny or ask; its mode is empty, ask or
// read-only.
type Project struct {
	// File is the file that it was read from.
	File        string
	Permissions approval.Config
}

// Key is a key of a configuration file.
type Key struct {
	// Name is the key, Want describes its value.
	Name, Want string
	// Values are the values that a string may have, if not all.
	Values []string
	// Project is set if a project's file may have it.
	Project bool
	set     func(d *decoder, u *User, v *strictjson.Value)
}

// Levels of thinking.
var thinking = []string{"off", "minimal", "low", "medium", "high"}

// Modes in which sessions begin.
var modes = []string{"ask", "code", "plan"}

var sides = []string{string(Client), string(ClientOrLocal), string(Local)}

// Keys are all keys, in the order in which they are documented.
func Keys() []Key {
	text := func(field func(*User) *string) func(*decoder, *User, *strictjson.Value) {
		return func(_ *decoder, u *User, v *strictjson.Value) { *field(u) = v.Text }
	}
	return []Key{
		{Name: "model", Want: "a string", set: func(d *decoder, u *User, v *strictjson.Value) { u.Model = d.model("model", v) }},
		{Name: "models", Want: "a list of strings", set: (*decoder).models},
		{Name: "thinking", Want: "a string", Values: thinking, set: text(func(u *User) *string { return &u.Thinking })},
		{Name: "mode", Want: "a string", Values: modes, set: text(func(u *User) *string { return &u.Mode })},
		{Name: "instructions", Want: "a string", set: text(func(u *User) *string { return &u.Instructions })},
		{Name: "permissions", Want: "an object", Project: true, set: func(d *decoder, u *User, v *strictjson.Value) { u.Permissions = d.permissions(v) }},
		{Name: "always", Want: "a list of objects", set: (*decoder).always},
		{Name: "files", Want: "a string", Values: sides, set: text(func(u *User) *string { return (*string)(&u.Files) })},
		{Name: "terminal", Want: "a string", Values: sides, set: text(func(u *User) *string { return (*string)(&u.Terminal) })},
		{Name: "env", Want: "a list of strings", set: (*decoder).env},
		{Name: "sandbox", Want: "true or false", set: (*decoder).sandbox},
		{Name: "mcpServers", Want: "an object", set: (*decoder).servers},
		{Name: "languageServers", Want: "an object", set: (*decoder).languageServers},
		{Name: "prompts", Want: "a string", set: (*decoder).prompts},
		{Name: "encrypt", Want: "a string", set: (*decoder).encrypt},
		{Name: "bare", Want: "true or false", set: func(_ *decoder, u *User, v *strictjson.Value) { u.Bare = v.Text == "true" }},
	}
}

// ParseUser reads the text of a user's file. Paths in it are relative to the file's directory. Its
// error joins a [*Problem] for each mistake.
func ParseUser(file string, data []byte) (*User, error) {
	data = plain(data)
	d := &decoder{file: file, data: data}
	u := &User{File: file, places: map[string]place{}}
	top := d.top(func(k Key) bool { return true })
	for _, k := range Keys() {
		v := top.Get(k.Name)
		if v == nil {
			continue
		}
		line, column := strictjson.Position(data, v.Start)
		u.places[k.Name] = place{line, column}
		if d.fits(k, v) {
			k.set(d, u, v)
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return u, nil
}

// ParseProject reads the text of a project's file. What would permit something is an error.
func ParseProject(file string, data []byte) (*Project, error) {
	data = plain(data)
	d := &decoder{file: file, data: data}
	top := d.top(func(k Key) bool { return k.Project })
	p := &Project{File: file}
	if v := top.Get("permissions"); v != nil && d.fits(Key{Name: "permissions", Want: "an object"}, v) {
		p.Permissions = d.permissions(v)
		d.narrows(v, &p.Permissions)
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// narrows refuses what would permit something.
func (d *decoder) narrows(v *strictjson.Value, c *approval.Config) {
	if c.Mode == approval.ModeAuto {
		d.bad(v.Get("mode").Start, "permissions.mode", `a project cannot permit anything; use ask or read-only`)
	}
	for i, r := range c.Rules {
		if r.Decision == toolset.VerdictAllow {
			at := v.Get("rules").Items[i]
			d.bad(at.Get("decision").Start, fmt.Sprintf("permissions.rules[%d].decision", i), `a project cannot permit anything; use deny or ask, or put the rule into your own configuration`)
		}
	}
}

// MCPServers returns a document with the servers of the configuration, in the form that other
// programs use and mcptoolset.ParseConfig reads: {"mcpServers": {…}}. It is nil if there are none.
// It may have secrets.
func (u *User) MCPServers() []byte {
	if u.servers == nil {
		return nil
	}
	return u.servers()
}

// LanguageServers returns the servers for code intelligence in the form that lsptoolset.ParseConfig
// reads. It is nil if the configuration says nothing about them.
func (u *User) LanguageServers() []byte {
	if u.code == nil {
		return nil
	}
	return u.code()
}

// WrongAll returns an error like Wrong for each of the errors that err joins, without the prefix of
// a package.
func (u *User) WrongAll(key, prefix string, err error) error {
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	for i, err := range errs {
		errs[i] = u.Wrong(key, errors.New(strings.TrimPrefix(err.Error(), prefix)))
	}
	return errors.Join(errs...)
}

// Wrong returns an error that the value of a key cannot be used, with its place.
func (u *User) Wrong(key string, err error) error {
	p := u.places[key]
	return &Problem{File: u.File, Line: p.line, Column: p.column, Key: key, Text: err.Error()}
}

// absolute returns a path that is relative to the directory of the file.
func (d *decoder) absolute(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(d.file), name)
}

func (d *decoder) encrypt(u *User, v *strictjson.Value) {
	switch u.Encrypt = v.Text; {
	case strings.TrimSpace(v.Text) == "" || v.Text == "env:":
		d.bad(v.Start, "encrypt", `want keyring, env:NAME or a file`)
	case v.Text != "keyring" && !strings.HasPrefix(v.Text, "env:"):
		u.Encrypt = d.absolute(v.Text)
	}
}

func (d *decoder) prompts(u *User, v *strictjson.Value) {
	if strings.TrimSpace(v.Text) == "" {
		d.bad(v.Start, "prompts", "want a directory, not an empty string")
		return
	}
	u.Prompts = d.absolute(v.Text)
}
