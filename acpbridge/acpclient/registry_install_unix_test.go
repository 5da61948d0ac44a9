// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpclient_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// fakeNPM installs a package whose program is called "run", and fakeUV one with a program of its name.
const (
	fakeNPM = `#!/bin/sh
echo "npm $*" in "$PWD"
[ "$7" = broken@1.0.0 ] && { echo "no such package" >&2; exit 1; }
mkdir -p "$3/node_modules/@scope/agent" "$3/node_modules/.bin"
echo '{"bin":{"run":"index.js"}}' > "$3/node_modules/@scope/agent/package.json"
printf '#!/bin/sh\n' > "$3/node_modules/.bin/run"
chmod +x "$3/node_modules/.bin/run"
`
	fakeUV = `#!/bin/sh
echo "uv $*"
mkdir -p "$UV_TOOL_BIN_DIR" "$UV_TOOL_DIR"
printf '#!/bin/sh\n' > "$UV_TOOL_BIN_DIR/agent"
`
)

// path sets PATH to a directory with some programs, and what these need.
func path(t *testing.T, programs map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	for _, name := range []string{"mkdir", "chmod"} {
		found, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(found, filepath.Join(dir, name)))
	}
	t.Setenv("PATH", dir)
}

func parse(t *testing.T, text string) *acpclient.RegistryAgent {
	t.Helper()
	r, err := acpclient.ParseRegistry([]byte(text))
	require.NoError(t, err)
	return r.Agents()[0]
}

func TestPackagesAreInstalledByNpmAndUv(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM, "uv": fakeUV})
	for text, program := range map[string]string{
		entry("agent", npx): "node_modules/.bin/run",
		entry("agent", `{"uvx":{"package":"agent[all]==1.2.3"}}`): "bin/agent",
	} {
		store := acpclient.AgentStore{Dir: filepath.Join(t.TempDir(), "with space")}
		a := parse(t, text)
		_, err := store.Command(a)
		var missing *acpclient.NotInstalledError
		require.ErrorAs(t, err, &missing)
		require.Empty(t, missing.Needs)
		require.ErrorContains(t, err, "agent 1.2.3 is not installed. Install it with: "+missing.Command)
		require.NoDirExists(t, store.Dir, "asking changes nothing")

		var out bytes.Buffer
		require.NoError(t, store.Install(t.Context(), a, &out))
		require.Contains(t, out.String(), "1.2.3")
		command, err := store.Command(a)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(missing.Dir, program), command.Path)
		require.Equal(t, a.Distribution.NPX != nil, len(command.Args) == 1 && len(command.Env) == 1)
	}
}

// What is installed runs scripts of its own.
func TestInstallersGetNoKeys(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM + "\n/usr/bin/env\n"})
	t.Setenv("SMTP_PASS", "sesame")
	t.Setenv("OPENAI_API_KEY", "sesame")
	t.Setenv("NPM_CONFIG_LOGLEVEL", "silly")
	var out bytes.Buffer
	require.NoError(t, acpclient.AgentStore{Dir: t.TempDir()}.Install(t.Context(), parse(t, entry("agent", npx)), &out))
	require.Contains(t, out.String(), "NPM_CONFIG_LOGLEVEL=silly")
	require.NotContains(t, out.String(), "sesame")
}

// The line that the error shows does what Install does.
func TestShownCommandInstalls(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM, "uv": fakeUV})
	for _, text := range []string{entry("agent", npx), entry("agent", `{"uvx":{"package":"agent@1.2.3"}}`)} {
		store := acpclient.AgentStore{Dir: filepath.Join(t.TempDir(), "it's")}
		a := parse(t, text)
		_, err := store.Command(a)
		var missing *acpclient.NotInstalledError
		require.ErrorAs(t, err, &missing)
		runInstalled(t, missing.Command)
		_, err = store.Command(a)
		require.NoError(t, err, missing.Command)
	}
}

func TestMissingInstallerIsNamed(t *testing.T) {
	path(t, nil)
	store := acpclient.AgentStore{Dir: t.TempDir()}
	for text, want := range map[string]string{
		entry("agent", npx): "needs npm, which is not in PATH",
		entry("agent", `{"uvx":{"package":"agent==1.2.3"}}`): "needs uv, which is not in PATH",
	} {
		for _, err := range []error{store.Install(t.Context(), parse(t, text), nil), second(store.Command(parse(t, text)))} {
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "Install that with: ")
		}
	}
	require.Equal(t, "brew install node", acpclient.Needed("npm", "darwin"))
	require.Equal(t, "winget install astral-sh.uv", acpclient.Needed("uv", "windows"))
	require.Equal(t, "apt-get install nodejs npm", acpclient.Needed("npm", "linux"))
}

func TestInstallTakesAWayThatIsPossible(t *testing.T) {
	path(t, map[string]string{"uv": fakeUV})
	store := acpclient.AgentStore{Dir: t.TempDir()}
	a := parse(t, entry("agent", `{"npx":{"package":"agent@1.2.3"},"uvx":{"package":"agent==1.2.3"}}`))
	require.NoError(t, store.Install(t.Context(), a, nil))
	command, err := store.Command(a)
	require.NoError(t, err)
	require.Equal(t, "agent", filepath.Base(command.Path))
}

func TestFailedInstallationLeavesNothing(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM})
	store := acpclient.AgentStore{Dir: t.TempDir()}
	err := store.Install(t.Context(), parse(t, entry("agent", `{"npx":{"package":"broken@1.0.0"}}`)), nil)
	require.ErrorContains(t, err, "install agent 1.2.3: npm: exit status 1: ")
	require.ErrorContains(t, err, "no such package")
	left, err := os.ReadDir(store.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A project's own settings must not decide where packages come from.
func TestInstallerRunsInTheStore(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM})
	store := acpclient.AgentStore{Dir: t.TempDir()}
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, store.Install(t.Context(), parse(t, entry("agent", npx)), &out))
	require.Contains(t, out.String(), " in "+store.Dir)
}

func TestUsersProgramIsLookedUp(t *testing.T) {
	path(t, map[string]string{"mine": "#!/bin/sh\n"})
	store := acpclient.AgentStore{Dir: t.TempDir()}
	a := parse(t, entry("agent", `{"command":{"path":"mine","args":["acp"]}}`))
	command, err := store.Command(a)
	require.NoError(t, err)
	require.Equal(t, "mine", filepath.Base(command.Path))
	require.NoError(t, store.Install(t.Context(), a, nil))
	_, err = store.Command(parse(t, entry("agent", `{"command":{"path":"nobodys"}}`)))
	require.ErrorContains(t, err, `the program "nobodys" of the user's file cannot be run`)
}

func TestDamagedPackageIsReported(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM})
	store := acpclient.AgentStore{Dir: t.TempDir()}
	a := parse(t, entry("agent", npx))
	require.NoError(t, store.Install(t.Context(), a, nil))
	all, err := filepath.Glob(filepath.Join(store.Dir, "*", "node_modules", "@scope", "agent", "package.json"))
	require.NoError(t, err)
	for content, want := range map[string]string{
		`{`:                               "package.json",
		`{}`:                              "no program",
		`{"bin":{"../../x":"a"}}`:         `a program called "../../x"`,
		`{"bin":{"a":"a.js","b":"b.js"}}`: "several programs",
	} {
		require.NoError(t, os.WriteFile(all[0], []byte(content), 0o600))
		require.ErrorContains(t, second(store.Command(a)), want)
	}
	require.NoError(t, os.WriteFile(all[0], []byte(`{"bin":{"agent":"a.js","run":"b.js"}}`), 0o600))
	_, err = store.Command(a)
	var missing *acpclient.NotInstalledError
	require.ErrorAs(t, err, &missing, "a package without its program is not installed")
}

func second(_ acpclient.Command, err error) error { return err }

func runInstalled(t *testing.T, line string) {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestPackageOfOneProgramIsCalledLikeIt(t *testing.T) {
	path(t, map[string]string{"npm": fakeNPM})
	store := acpclient.AgentStore{Dir: t.TempDir()}
	a := parse(t, entry("agent", npx))
	require.NoError(t, store.Install(t.Context(), a, nil))
	all, err := filepath.Glob(filepath.Join(store.Dir, "*", "node_modules", "@scope", "agent", "package.json"))
	require.NoError(t, err)
	programs := filepath.Join(filepath.Dir(all[0]), "..", "..", ".bin")
	require.NoError(t, os.WriteFile(filepath.Join(programs, "agent"), nil, 0o700))
	for bin, want := range map[string]string{`"index.js"`: "agent", `{"run":"a.js","agent":"b.js"}`: "agent", `{"run":"a.js"}`: "run"} {
		require.NoError(t, os.WriteFile(all[0], []byte(`{"bin":`+bin+`}`), 0o600))
		command, err := store.Command(a)
		require.NoError(t, err)
		require.Equal(t, want, filepath.Base(command.Path))
	}
	for _, bin := range []string{`""`, `[]`, `null`, `{}`} {
		require.NoError(t, os.WriteFile(all[0], []byte(`{"bin":`+bin+`}`), 0o600))
		require.ErrorContains(t, second(store.Command(a)), "has no program", bin)
	}
}

// An installer may end well and leave no program.
func TestInstallationWithoutAProgramIsAnError(t *testing.T) {
	path(t, map[string]string{"npm": "#!/bin/sh\nmkdir -p \"$3\"\n", "uv": "#!/bin/sh\n"})
	for _, text := range []string{entry("agent", npx), entry("agent", `{"uvx":{"package":"agent==1.2.3"}}`)} {
		err := acpclient.AgentStore{Dir: t.TempDir()}.Install(t.Context(), parse(t, text), nil)
		require.ErrorContains(t, err, "the installed package has no program")
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

// The error has the end of what the installer says, on one line.
func TestErrorHasTheEndOfTheInstallersOutput(t *testing.T) {
	path(t, map[string]string{"npm": "#!/bin/sh\ni=0\nwhile [ $i -lt 300 ]; do echo \"line $i\" >&2; i=$((i+1)); done\necho last\nexit 3\n"})
	var out bytes.Buffer
	err := acpclient.AgentStore{Dir: t.TempDir()}.Install(t.Context(), parse(t, entry("agent", npx)), &out)
	require.ErrorContains(t, err, "npm: exit status 3: ")
	require.ErrorContains(t, err, "line 299 last")
	require.NotContains(t, err.Error(), "line 150")
	require.NotContains(t, err.Error(), "\n")
	require.Contains(t, out.String(), "line 0\n")
}
