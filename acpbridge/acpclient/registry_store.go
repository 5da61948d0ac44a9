// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/show"
)

// AgentStore is a directory of installed agents, with a directory for each version of an agent. The
// zero value is the user's store. A Store is safe for concurrent use, and so is its directory for
// several processes.
type AgentStore struct {
	// Dir is the directory; empty means ponte/agents in the user's cache directory. See
	// [os.UserCacheDir].
	Dir string
	// Platform selects the binaries; empty means [Platform].
	Platform string
	// AllowUnverified lets [AgentStore.Install] install a binary for which the registry has no
	// checksum.
	AllowUnverified bool
}

// Platform returns the registry's name of the platform that this program runs on, such as
// "linux-x86_64".
func Platform() string {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return runtime.GOOS + "-" + cmp.Or(arch, runtime.GOARCH)
}

func (s AgentStore) platform() string { return cmp.Or(s.Platform, Platform()) }

// Command returns how to start an agent. It downloads nothing and runs nothing. The user's own
// program comes first, then what is installed of npx, uvx and binary. If nothing is, the error is a
// [*NotInstalledError].
func (s AgentStore) Command(a *RegistryAgent) (Command, error) {
	if p := a.Distribution.Command; p != nil {
		name, err := exec.LookPath(p.Path)
		if err != nil {
			return Command{}, fmt.Errorf("acpclient: %s: the program %q of the user's file cannot be run: %w", a.ID, p.Path, err)
		}
		return Command{Path: name, Args: slices.Clone(p.Args), Env: variables(p.Env)}, nil
	}
	ways, err := s.ways(a)
	if err != nil {
		return Command{}, err
	}
	for _, w := range ways {
		program, err := w.program()
		if err != nil {
			return Command{}, fmt.Errorf("acpclient: %s in %s is damaged, remove the directory and install it again: %w", a.ID, w.dir, err)
		}
		if program != "" {
			return Command{Path: program, Args: slices.Clone(w.args), Env: variables(w.env)}, nil
		}
	}
	w := first(ways)
	e := &NotInstalledError{Agent: a.ID, Version: a.Version, Dir: w.dir, Command: w.shell()}
	if w.missing() {
		e.Needs = w.tool
	}
	return Command{}, e
}

// NotInstalledError reports that an agent is not installed.
type NotInstalledError struct {
	// Agent and Version name the missing agent, and Dir is the directory that it would be in.
	Agent, Version, Dir string
	// Command is a line for a shell that installs it. [AgentStore.Install] does the same.
	Command string
	// Needs is the program that the command needs and that is not in PATH: "npm", "uv" or "". Error
	// names the command that installs it.
	Needs string
}

func (e *NotInstalledError) Error() string {
	text := fmt.Sprintf("acpclient: %s %s is not installed", e.Agent, e.Version)
	if e.Needs != "" {
		text += fmt.Sprintf(", and needs %s, which is not in PATH. Install that with: %s. Then install it with: ", e.Needs, needed(e.Needs, runtime.GOOS))
	} else {
		text += ". Install it with: "
	}
	return text + e.Command
}

// needed returns the command that installs npm or uv.
func needed(tool, goos string) string {
	commands := map[string][3]string{ // darwin, windows, others
		"npm": {"brew install node", "winget install OpenJS.NodeJS.LTS", "apt-get install nodejs npm"},
		"uv":  {"brew install uv", "winget install astral-sh.uv", "pipx install uv"},
	}[tool]
	switch goos {
	case "darwin":
		return commands[0]
	case "windows":
		return commands[1]
	}
	return commands[2]
}

// way is one way to install an agent.
type way struct {
	dir  string // where it is, or would be
	tool string // the program that installs it: npm, uv, or "" for this package
	pkg  string // of npm or PyPI, with its version
	name string // of the package
	bin  *RegistryArchive
	args []string
	env  map[string]string
}

// ways returns the ways to install an agent on this platform, the best one first.
func (s AgentStore) ways(a *RegistryAgent) ([]*way, error) {
	root := s.Dir
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("acpclient: there is no cache directory, set AgentStore.Dir: %w", err)
		}
		root = filepath.Join(cache, "ponte", "agents")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("acpclient: %w", err)
	}
	var all []*way
	add := func(w *way, what string) {
		// The installed files depend on the package or the archive, not only on the version that an
		// entry claims.
		w.dir = filepath.Join(root, fmt.Sprintf("%s-%s-%x", a.ID, a.Version, sha256.Sum256([]byte(what)))[:len(a.ID)+len(a.Version)+2+12])
		all = append(all, w)
	}
	if p := a.Distribution.NPX; p != nil {
		add(&way{tool: "npm", pkg: p.Package, name: npmForm().FindStringSubmatch(p.Package)[1], args: p.Args, env: p.Env}, "npm "+p.Package)
	}
	if p := a.Distribution.UVX; p != nil {
		add(&way{tool: "uv", pkg: p.Package, name: pypiForm().FindStringSubmatch(p.Package)[1], args: p.Args, env: p.Env}, "uv "+p.Package)
	}
	if b, ok := a.Distribution.Binary[s.platform()]; ok {
		add(&way{bin: &b, args: b.Args, env: b.Env}, "binary "+b.Archive+" "+strings.ToLower(b.SHA256))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("acpclient: %s is not distributed for %s, only for %s", a.ID, s.platform(),
			strings.Join(slices.Sorted(maps.Keys(a.Distribution.Binary)), ", "))
	}
	return all, nil
}

// first returns the first way whose installer is there, or the first one.
func first(ways []*way) *way {
	for _, w := range ways {
		if !w.missing() {
			return w
		}
	}
	return ways[0]
}

// missing reports whether the installer is missing.
func (w *way) missing() bool {
	if w.tool == "" {
		return false
	}
	_, err := exec.LookPath(w.tool)
	return err != nil
}

// program returns the installed program, or "" if it is not installed.
func (w *way) program() (string, error) {
	var name string
	switch {
	case w.bin != nil:
		name = filepath.Join(w.dir, filepath.FromSlash(path.Clean(w.bin.Cmd)))
	case w.tool == "uv":
		name = filepath.Join(w.dir, "bin", w.name)
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
	default:
		data, err := os.ReadFile(filepath.Join(w.dir, "node_modules", filepath.FromSlash(w.name), "package.json"))
		if err != nil {
			return "", notThere(err)
		}
		bin, err := binOf(data, w.name)
		if err != nil {
			return "", err
		}
		name = filepath.Join(w.dir, "node_modules", ".bin", bin)
		if runtime.GOOS == "windows" {
			name += ".cmd"
		}
	}
	if _, err := os.Stat(name); err != nil {
		return "", notThere(err)
	}
	return name, nil
}

func notThere(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// binOf returns which program of a package npx would run: the only one, or the one that is called
// like the package.
func binOf(packageJSON []byte, name string) (string, error) {
	short := path.Base(name)
	var p struct {
		Bin json.RawMessage `json:"bin"`
	}
	var one string
	var several map[string]string
	switch err := json.Unmarshal(packageJSON, &p); {
	case err != nil:
		return "", fmt.Errorf("package.json: %w", err)
	case json.Unmarshal(p.Bin, &one) == nil && one != "":
		return short, nil
	case json.Unmarshal(p.Bin, &several) != nil || len(several) == 0:
		return "", fmt.Errorf("the package %s has no program", name)
	}
	bin := short
	if _, ok := several[short]; !ok {
		if len(several) > 1 {
			return "", fmt.Errorf("the package %s has several programs, and none that is called like it", name)
		}
		bin = slices.Collect(maps.Keys(several))[0]
	}
	if bin == "" || strings.ContainsAny(bin, `/\:`) || bin == "." || bin == ".." {
		return "", fmt.Errorf("the package %s has a program called %q", name, cutName(bin))
	}
	return bin, nil
}

// shell returns a line for a shell that installs it.
func (w *way) shell() string {
	if w.bin == nil {
		args, env := w.install(w.dir)
		for i, e := range env {
			name, value, _ := strings.Cut(e, "=")
			env[i] = name + "=" + show.Word(value)
		}
		return strings.Join(append(env, show.Command(args)), " ")
	}
	dir := show.Word(w.dir)
	if format(w.bin.Archive) == "" {
		target := show.Word(filepath.Join(w.dir, filepath.FromSlash(path.Clean(w.bin.Cmd))))
		return fmt.Sprintf("mkdir -p %s && curl -fL -o %s %s && chmod +x %s", dir, target, show.Word(w.bin.Archive), target)
	}
	archive := show.Word(w.dir + format(w.bin.Archive))
	unpack := fmt.Sprintf("tar -xf %s -C %s", archive, dir)
	if format(w.bin.Archive) == ".zip" {
		unpack = fmt.Sprintf("unzip -q %s -d %s", archive, dir)
	}
	return fmt.Sprintf("mkdir -p %s && curl -fL -o %s %s && %s", dir, archive, show.Word(w.bin.Archive), unpack)
}

// install returns the command that installs a package in a directory, and what it adds to the
// environment.
func (w *way) install(dir string) (args, env []string) {
	if w.tool == "uv" {
		return []string{"uv", "tool", "install", "--no-progress", w.pkg},
			[]string{"UV_TOOL_DIR=" + filepath.Join(dir, "tools"), "UV_TOOL_BIN_DIR=" + filepath.Join(dir, "bin")}
	}
	return []string{"npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error", w.pkg}, nil
}

func variables(env map[string]string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, name+"="+env[name])
	}
	return all
}
