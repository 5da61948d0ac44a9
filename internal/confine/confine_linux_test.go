// SPDX-License-Identifier: Apache-2.0

package confine_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/internal/confine"
)

// reporter is the variable that makes this program tell what it may do. Its value has paths.
const reporter = "PONTE_TEST_CONFINED"

func TestMain(m *testing.M) {
	before := confine.Ready()
	confine.Helper()
	if root := os.Getenv(reporter); root != "" {
		report(root)
		return
	}
	if before || !confine.Ready() {
		fmt.Fprintln(os.Stderr, "Ready is not what it must be")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// told is what a confined program says about itself.
type told struct {
	Args, Env, Open []string
	Dir             string
	Status          map[string]string
	Done            map[string]string
}

// report tries what a confined program may do or not.
func report(root string) {
	t := told{Args: os.Args[1:], Env: os.Environ(), Status: map[string]string{}, Done: map[string]string{}}
	t.Dir, _ = os.Getwd()
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, root) || strings.Contains(target, "policy") {
			t.Open = append(t.Open, target)
		}
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Seccomp", "NoNewPrivs"}, name) {
			t.Status[name] = strings.TrimSpace(value)
		}
	}
	try := func(what string, err error) {
		t.Done[what] = "done"
		if err != nil {
			var errno unix.Errno
			if t.Done[what] = err.Error(); errors.As(err, &errno) {
				t.Done[what] = unix.ErrnoName(errno)
			}
		}
	}
	read := func(name string) error { _, err := os.ReadFile(filepath.Join(root, name)); return err }
	write := func(name string) error {
		f, err := os.OpenFile(filepath.Join(root, name), os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("new")
			err = errors.Join(err, f.Close())
		}
		return err
	}
	try("read what can be read", read("read/a"))
	try("read a file that can be read", read("file"))
	try("read what can be written", read("write/a"))
	try("read through a link", read("read/link"))
	try("read elsewhere", read("other/a"))
	try("write what can be written", write("write/a"))
	try("write what can be read", write("read/a"))
	try("write a file that can be read", write("file"))
	try("write elsewhere", write("other/a"))
	try("make a file", os.WriteFile(filepath.Join(root, "write", "new"), nil, 0o600))
	try("move a file", os.Rename(filepath.Join(root, "write", "a"), filepath.Join(root, "write", "b")))
	try("make a file elsewhere", os.WriteFile(filepath.Join(root, "other", "new"), nil, 0o600))
	device, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	try("use a device", err)
	if err == nil {
		_ = device.Close()
	}
	_, err = os.Open("/dev/zero")
	try("use another device", err)
	try("signal the parent", unix.Kill(unix.Getppid(), 0))
	try("what the filter refuses", unix.Sethostname([]byte("x")))
	_ = json.NewEncoder(os.Stdout).Encode(t)
}

// landlocked skips a test where the kernel has not all of Landlock that is needed.
func landlocked(t *testing.T) {
	t.Helper()
	version, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if int(version) < 6 {
		t.Skipf("the kernel has version %d of Landlock, or none", int(version))
	}
}

// refuseHostname is a filter that refuses sethostname with EDOM and allows everything else.
func refuseHostname() (raw []byte) {
	for _, f := range []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SETHOSTNAME, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EDOM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	} {
		raw = binary.NativeEndian.AppendUint16(raw, f.Code)
		raw = append(raw, f.Jt, f.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, f.K)
	}
	return raw
}

// scene makes files, and the policy for this program among them.
func scene(t *testing.T) (string, *confine.Policy) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, name := range []string{"read/a", "file", "write/a", "other/a"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("old"), 0o644))
	}
	require.NoError(t, os.Symlink("../other/a", filepath.Join(root, "read", "link")))
	self, err := os.Executable()
	require.NoError(t, err)
	p := &confine.Policy{
		Read:    []string{filepath.Join(root, "read"), filepath.Join(root, "file"), filepath.Join(root, "gone"), self, "/proc"},
		Write:   []string{filepath.Join(root, "write")},
		Devices: []string{os.DevNull}, Filter: refuseHostname(), Program: self, Args: []string{"one", "", "three"},
		Env: []string{reporter + "=" + root, "B=\xff"}, Dir: filepath.Join(root, "write"),
	}
	p.Read = append(p.Read,
		"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/sys/kernel/mm")
	return root, p
}

// confined runs this program by a policy that it gets as it is.
func confined(t *testing.T, policy []byte) (out, errs string, code int) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	f, err := os.CreateTemp(t.TempDir(), "policy")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Write(policy)
	require.NoError(t, err)
	_, err = f.Seek(0, 0)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, confine.Args()...)
	cmd.ExtraFiles = []*os.File{nil, nil, f} // which is confine.FD
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// A confined program has the files, the arguments and the environment of its policy, no rights, and
// no file that was open before.
func TestProgramsAreConfined(t *testing.T) {
	landlocked(t)
	root, p := scene(t)
	data, err := confine.Encode(p)
	require.NoError(t, err)
	out, errs, code := confined(t, data)
	require.Equal(t, "", errs)
	require.Zero(t, code, out)
	var got told
	require.NoError(t, json.Unmarshal([]byte(out), &got), out)
	require.Equal(t, p.Args, got.Args)
	require.Contains(t, got.Env[1], "B=")
	require.Len(t, got.Env, 2)
	require.Equal(t, p.Dir, got.Dir)
	require.Empty(t, got.Open, "no file is left open, the policy neither")
	none := "0000000000000000"
	want := map[string]string{"CapInh": none, "CapPrm": none, "CapEff": none, "CapAmb": none, "CapBnd": none, "Seccomp": "2", "NoNewPrivs": "1"}
	if os.Getuid() != 0 {
		want["CapBnd"] = got.Status["CapBnd"] // it has no right to drop these, and needs none
	}
	require.Equal(t, want, got.Status)
	require.Equal(t, map[string]string{
		"read what can be read": "done", "read a file that can be read": "done", "read what can be written": "done", "read through a link": "EACCES", "read elsewhere": "EACCES",
		"write what can be written": "done", "write what can be read": "EACCES", "write a file that can be read": "EACCES", "write elsewhere": "EACCES",
		"make a file": "done", "move a file": "done", "make a file elsewhere": "EACCES", "use a device": "done", "use another device": "EACCES",
		"signal the parent": "EPERM", "what the filter refuses": "EDOM",
	}, got.Done)
	moved, err := os.ReadFile(filepath.Join(root, "write", "b"))
	require.NoError(t, err)
	require.Equal(t, "new", string(moved))
	for _, name := range []string{"read/a", "file", "other/a"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, "old", string(data), name)
	}
}

// A command that cannot be confined does not run. The program says why.
func TestProgramsThatCannotBeConfinedDoNotRun(t *testing.T) {
	landlocked(t)
	for want, spoil := range map[string]func(*confine.Policy){
		"chdir /nonexistent: no such file or directory": func(p *confine.Policy) { p.Dir = "/nonexistent" },
		"the filter of system calls is malformed":       func(p *confine.Policy) { p.Filter = nil },
		"the filter of system calls is malformed ":      func(p *confine.Policy) { p.Filter = p.Filter[1:] },
		"invalid argument":                              func(p *confine.Policy) { p.Filter = make([]byte, 8) },
		"permission denied":                             func(p *confine.Policy) { p.Read = p.Read[:3] },
		"no such file or directory":                     func(p *confine.Policy) { p.Program = "/nonexistent" },
	} {
		_, p := scene(t)
		spoil(p)
		data, err := confine.Encode(p)
		require.NoError(t, err)
		out, errs, code := confined(t, data)
		require.Equal(t, "the command cannot be confined: "+strings.TrimSpace(want)+"\n", errs)
		require.Equal(t, 126, code)
		require.Empty(t, out)
	}
	_, p := scene(t)
	p.Write = append(p.Write, "/nonexistent")
	data, err := confine.Encode(p)
	require.NoError(t, err)
	_, errs, code := confined(t, data)
	require.Contains(t, errs, "the command cannot be confined: ")
	require.Contains(t, errs, "/nonexistent")
	require.Equal(t, 126, code)
	_, errs, code = confined(t, []byte("{"))
	require.Equal(t, "the command cannot be confined: unexpected end of JSON input\n", errs)
	require.Equal(t, 126, code)
	self, err := os.Executable()
	require.NoError(t, err)
	bare := exec.CommandContext(t.Context(), self, confine.Args()...) // without a policy
	said, err := bare.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, "the command cannot be confined: read policy: bad file descriptor\n", string(said))
}
