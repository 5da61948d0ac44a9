// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/internal/lazy"
	"github.com/ponte-go/ponte/internal/show"
)

// RegistryAgent is an entry of a registry.
type RegistryAgent struct {
	// ID is the agent's name in the registry, and Aliases are other names for it. Aliases are an
	// addition to the registry's format.
	ID      string   `json:"id"`
	Aliases []string `json:"aliases,omitempty"`
	// Name and Description are for people.
	Name        string `json:"name"`
	Description string `json:"description"`
	// Version is the pinned version.
	Version string `json:"version"`
	// The rest describes the agent. All of it may be empty.
	Repository string   `json:"repository,omitempty"`
	Website    string   `json:"website,omitempty"`
	Authors    []string `json:"authors,omitempty"`
	License    string   `json:"license,omitempty"`
	// Distribution describes how to install and start it.
	Distribution RegistryDistribution `json:"distribution"`
	// User reports that the entry comes from the user's file.
	User bool `json:"-"`
}

// RegistryDistribution describes how to install and start an agent. At least one field is set.
type RegistryDistribution struct {
	// NPX is a package of npm, and UVX one of PyPI.
	NPX *RegistryPackage `json:"npx,omitempty"`
	UVX *RegistryPackage `json:"uvx,omitempty"`
	// Binary are archives by platform, such as "linux-x86_64". See [Platform].
	Binary map[string]RegistryArchive `json:"binary,omitempty"`
	// Command is a program that the user has installed. It is an addition to the registry's format,
	// for the user's own file.
	Command *RegistryProgram `json:"command,omitempty"`
}

// RegistryPackage is a package of npm or PyPI.
type RegistryPackage struct {
	// Package is the name with its exact version: "name@1.2.3" for npm, "name==1.2.3" or
	// "name@1.2.3" for PyPI.
	Package string `json:"package"`
	// Args and Env are what to start it with.
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

// RegistryArchive is an archive with a program in it.
type RegistryArchive struct {
	// Archive is its HTTPS address. It is a .zip, .tar.gz, .tgz, .tar.bz2 or .tbz2, or otherwise
	// the program itself.
	Archive string `json:"archive"`
	// SHA256 is its checksum in hexadecimal. It may be empty.
	SHA256 string `json:"sha256,omitempty"`
	// Cmd is the program's path in the archive.
	Cmd string `json:"cmd"`
	// Args and Env are what to start it with.
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

// RegistryProgram is a program that is installed already.
type RegistryProgram struct {
	// Path is an absolute path, or a name that is looked up in PATH.
	Path string            `json:"path"`
	Args []string          `json:"args,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
}

// UnmarshalJSON refuses members that it does not know: they could change what runs.
func (d *RegistryDistribution) UnmarshalJSON(data []byte) error {
	type plain RegistryDistribution
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(d))
}

// Bounds of what a registry's file may have.
const (
	maxFile   = 4 << 20
	maxAgents = 2000
	maxText   = 4096 // bytes of a string
	maxList   = 100  // arguments, variables
)

var (
	idForm      = lazy.Regexp(`^[a-z][a-z0-9-]*$`)
	versionForm = lazy.Regexp(`^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$`)
	npmForm     = lazy.Regexp(`^((?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*)@[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)
	pypiForm    = lazy.Regexp(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[[A-Za-z0-9._,-]+\])?(?:==|@)[0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?$`)
)

// platforms are the registry's names of platforms.
var platforms = []string{"darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-aarch64", "windows-x86_64"}

// check reports what is wrong with an entry.
func (a *RegistryAgent) check() error {
	var errs []error
	bad := func(where, format string, args ...any) { errs = append(errs, fmt.Errorf(where+": "+format, args...)) }
	if !idForm().MatchString(a.ID) || len(a.ID) > 64 {
		bad("id", "%q is not a name of lower-case letters, digits and hyphens", cutName(a.ID))
	}
	for _, alias := range a.Aliases {
		if !idForm().MatchString(alias) || len(alias) > 64 {
			bad("aliases", "%q is not a name of lower-case letters, digits and hyphens", cutName(alias))
		}
	}
	if !versionForm().MatchString(a.Version) || len(a.Version) > 64 {
		bad("version", "%q is not a version such as 1.2.3", cutName(a.Version))
	}
	if a.Name == "" {
		bad("name", "it is missing")
	}
	for _, text := range slices.Concat([]string{a.Name, a.Description, a.Repository, a.Website, a.License}, a.Authors) {
		if len(text) > maxText {
			bad("the description", "a text is longer than %d bytes", maxText)
			break
		}
	}
	d := &a.Distribution
	if d.NPX == nil && d.UVX == nil && d.Command == nil && len(d.Binary) == 0 {
		bad("distribution", "it is missing: set npx, uvx, binary or command, which start the agent")
	}
	if p := d.NPX; p != nil {
		if !npmForm().MatchString(p.Package) || len(p.Package) > 300 {
			bad("npx", "package: %q is not a package of npm with its exact version, such as name@1.2.3", cutName(p.Package))
		}
		errs = append(errs, checkStart("npx", p.Args, p.Env)...)
	}
	if p := d.UVX; p != nil {
		if !pypiForm().MatchString(p.Package) || len(p.Package) > 300 {
			bad("uvx", "package: %q is not a package of PyPI with its exact version, such as name==1.2.3", cutName(p.Package))
		}
		errs = append(errs, checkStart("uvx", p.Args, p.Env)...)
	}
	for platform, b := range d.Binary {
		where := "binary " + cutName(platform)
		if !slices.Contains(platforms, platform) {
			bad(where, "unknown platform: use one of %s", strings.Join(platforms, ", "))
		}
		if err := checkArchive(&b); err != nil {
			bad(where, "%w", err)
		}
		errs = append(errs, checkStart(where, b.Args, b.Env)...)
	}
	if p := d.Command; p != nil {
		switch {
		case p.Path == "" || len(p.Path) > maxText || strings.ContainsRune(p.Path, 0):
			bad("command", "path: %q is not the path of a program", cutName(p.Path))
		case filepath.Base(p.Path) != p.Path && !filepath.IsAbs(p.Path):
			// It would be another program in each directory.
			bad("command", "path: %q is neither a name nor an absolute path", cutName(p.Path))
		}
		errs = append(errs, checkStart("command", p.Args, p.Env)...)
	}
	return errors.Join(errs...)
}

func checkArchive(b *RegistryArchive) error {
	u, err := url.Parse(b.Archive)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || len(b.Archive) > maxText:
		return fmt.Errorf("archive: %q is not an https address", cutName(b.Archive))
	case u.User != nil:
		return errors.New("archive: the address has a user in it")
	}
	if b.SHA256 != "" {
		if sum, err := hex.DecodeString(b.SHA256); err != nil || len(sum) != 32 {
			return fmt.Errorf("sha256: %q is not a SHA-256 checksum of 64 hexadecimal digits", cutName(b.SHA256))
		}
	}
	if !inside(b.Cmd) {
		return fmt.Errorf("cmd: %q is not the path of a program in the archive", cutName(b.Cmd))
	}
	return nil
}

// inside reports whether a path with slashes stays where it begins, on every system.
func inside(name string) bool {
	clean := path.Clean(name)
	return name != "" && len(name) <= maxText && clean != "." && clean != ".." && !strings.HasPrefix(clean, "../") && !path.IsAbs(clean) &&
		!strings.ContainsAny(name, "\\:\x00")
}

func checkStart(where string, args []string, env map[string]string) (errs []error) {
	if len(args) > maxList || len(env) > maxList {
		return []error{fmt.Errorf("%s: more than %d arguments or variables", where, maxList)}
	}
	for _, a := range args {
		if len(a) > maxText || strings.ContainsRune(a, 0) {
			errs = append(errs, fmt.Errorf("%s: args: %q cannot be an argument", where, cutName(a)))
		}
	}
	for name, value := range env {
		switch {
		case name == "" || len(name) > 256 || strings.ContainsAny(name, "=\x00") || strings.ContainsFunc(name, func(r rune) bool { return !show.Visible(r) }):
			errs = append(errs, fmt.Errorf("%s: env: %q is not the name of a variable", where, cutName(name)))
		case len(value) > maxText || strings.ContainsRune(value, 0):
			errs = append(errs, fmt.Errorf("%s: env: %s: the value is too long, or has a NUL", where, name))
		case runsCode(name):
			errs = append(errs, fmt.Errorf("%s: env: %s could make other code run, or send data elsewhere: set it in the environment of your program", where, name))
		}
	}
	return errs
}

// Variables that make a loader, a shell, an interpreter or an installer run or fetch something
// else, or that lead traffic elsewhere.
var (
	unsafeNames = []string{
		"PATH", "PATHEXT", "COMSPEC", "SHELL", "SHELLOPTS", "BASHOPTS", "BASH_ENV", "ENV", "IFS", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
		"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "PERL5LIB", "PERL5OPT", "RUBYOPT", "RUBYLIB",
		"JAVA_TOOL_OPTIONS", "EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS", "BROWSER", "SSL_CERT_FILE", "SSL_CERT_DIR", "GCONV_PATH",
	}
	unsafePrefixes = []string{"LD_", "DYLD_", "NPM_CONFIG_", "PYTHON", "UV_", "PIP_", "GIT_", "BASH_FUNC_", "GLIBC_", "XDG_"}
	unsafeSuffixes = []string{"_PROXY", "_BASE_URL"}
)

func runsCode(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(unsafeNames, name) ||
		slices.ContainsFunc(unsafePrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(unsafeSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

func cutName(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// ParseRegistry reads a registry's file: an object with a list "agents", or the object of a single
// agent. Two entries must not have the same name.
func ParseRegistry(data []byte) (*Registry, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("acpclient: the file is larger than %d bytes", maxFile)
	}
	var file struct {
		Version string            `json:"version"`
		Agents  []json.RawMessage `json:"agents"`
		ID      string            `json:"id"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("acpclient: it is not a registry: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("acpclient: there is something after the registry's object")
	}
	entries := file.Agents
	switch {
	case entries == nil && file.ID != "":
		entries = []json.RawMessage{data}
	case entries == nil:
		return nil, errors.New(`acpclient: it is not a registry: the list "agents" is missing`)
	case file.Version != "" && !strings.HasPrefix(file.Version, "1."):
		return nil, fmt.Errorf("acpclient: the file is of version %q of the format, and this package reads version 1", cutName(file.Version))
	case len(entries) > maxAgents:
		return nil, fmt.Errorf("acpclient: the file has more than %d agents", maxAgents)
	}
	r := &Registry{byName: map[string]*RegistryAgent{}}
	var errs []error
	for i, entry := range entries {
		a := new(RegistryAgent)
		err := json.Unmarshal(entry, a)
		if err == nil {
			err = a.check()
		}
		if err == nil {
			err = r.add(a)
		}
		if err != nil && len(errs) < 10 {
			errs = append(errs, fmt.Errorf("acpclient: agent %d, %q: %w", i+1, cutName(a.ID), err))
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// Format implements [fmt.Formatter]. It hides the values of Env. The JSON has them: it is the
// user's file.
func (p RegistryProgram) Format(f fmt.State, verb rune) { hide.Format(f, verb, p.shown()) }

// LogValue implements [slog.LogValuer]. It hides the values of Env.
func (p RegistryProgram) LogValue() slog.Value { return hide.Log(p) }

type shownProgram RegistryProgram

func (p RegistryProgram) shown() shownProgram {
	p.Env = hide.Values(p.Env)
	return shownProgram(p)
}

// LogValue implements [slog.LogValuer]. It hides the values of the user's variables.
func (d RegistryDistribution) LogValue() slog.Value { return hide.Log(d) }

// LogValue implements [slog.LogValuer]. It hides the values of the user's variables.
func (a RegistryAgent) LogValue() slog.Value { return hide.Log(a) }
