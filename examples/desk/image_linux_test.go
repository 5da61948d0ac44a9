// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var image = flag.Bool("image", false, "build the image of deploy/Dockerfile with buildah, as root")

// TestImage builds the image of deploy/Dockerfile with buildah, and runs its program in it. It needs
// no registry: the image that it begins with has the Go of this machine.
func TestImage(t *testing.T) {
	if !*image {
		t.Skip("this takes minutes, root and buildah: use -image")
	}
	b := buildah{t, t.TempDir()}
	b.golang()
	b.do("bud", "--pull-never", "-v", "/usr:/usr:ro", "-v", goEnv(t, "GOROOT")+":"+goEnv(t, "GOROOT")+":ro",
		"-v", goEnv(t, "GOMODCACHE")+":/go/pkg/mod:ro", "-v", goEnv(t, "GOCACHE")+":/go/build",
		"-f", "examples/desk/deploy/Dockerfile", "-t", "desk", b.sources())

	root := b.do("mount", b.do("from", "--pull-never", "desk"))
	var has []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			has = append(has, strings.TrimPrefix(path, root))
		}
		return err
	}))
	require.Equal(t, []string{"/desk", "/etc/ssl/certs/ca-certificates.crt"}, has, "and nothing else")

	var made struct {
		OCIv1 struct {
			Config struct {
				User, StopSignal     string
				Env, Entrypoint, Cmd []string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(b.do("inspect", "--type", "image", "desk")), &made))
	c := made.OCIv1.Config
	require.Equal(t, "65532:65532", c.User)
	require.Equal(t, "SIGTERM", c.StopSignal)
	require.Equal(t, []string{"/desk"}, c.Entrypoint)
	admin := freeAddress(t)
	args := slices.Clone(c.Cmd)
	for i := range args {
		switch args[i] {
		case ":8080":
			args[i] = freeAddress(t)
		case ":9090":
			args[i] = admin
		}
	}
	cmd := exec.Command("/desk", args...)
	cmd.Dir, cmd.Env = "/", c.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	serves(t, cmd, admin)
	require.FileExists(t, filepath.Join(root, "state", "desk", "sessions", "sessions.db"), "its user can write there")
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// buildah builds images below a directory, without a daemon.
type buildah struct {
	t   *testing.T
	dir string
}

func (b buildah) do(args ...string) (stdout string) {
	b.t.Helper()
	storage := []string{"--storage-driver", "vfs", "--root", filepath.Join(b.dir, "root"), "--runroot", filepath.Join(b.dir, "run")}
	cmd := exec.Command("buildah", append(storage, args...)...) // the test's context has ended when it cleans up
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(b.t, cmd.Run(), "buildah %v: %s%s", args, &out, &errs)
	return strings.TrimSpace(out.String())
}

// golang makes the image that the Dockerfile begins with. Its programs are those of this machine.
func (b buildah) golang() {
	b.t.Helper()
	docker, err := os.ReadFile("deploy/Dockerfile")
	require.NoError(b.t, err)
	name := regexp.MustCompile(`(?m)^FROM (\S+) AS build$`).FindSubmatch(docker)
	require.NotNil(b.t, name)
	c := b.do("from", "scratch")
	b.t.Cleanup(func() { b.do("rm", "--all") })
	root := b.do("mount", c)
	for _, dir := range []string{"usr", "tmp", "proc", "sys", "dev", "go/pkg/mod", "go/build", "etc/ssl/certs"} {
		require.NoError(b.t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, dir := range []string{"bin", "lib", "lib64", "sbin"} {
		require.NoError(b.t, os.Symlink("usr/"+dir, filepath.Join(root, dir)))
	}
	certificates, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"), certificates, 0o644))
	path := filepath.Join(goEnv(b.t, "GOROOT"), "bin") + ":/usr/bin:/bin"
	for _, env := range []string{"PATH=" + path, "GOTOOLCHAIN=local", "GOPROXY=off", "GOMODCACHE=/go/pkg/mod", "GOCACHE=/go/build"} {
		b.do("config", "--env", env, c)
	}
	b.do("commit", c, string(name[1]))
}

// sources returns a directory with the files of this work tree that git knows.
func (b buildah) sources() string {
	b.t.Helper()
	list := exec.CommandContext(b.t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = filepath.Join("..", "..")
	names, err := list.Output()
	require.NoError(b.t, err)
	dir := filepath.Join(b.dir, "sources")
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			continue // it is removed, or a link to a directory
		}
		at := filepath.Join(dir, name)
		require.NoError(b.t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(b.t, os.WriteFile(at, data, 0o644))
	}
	return dir
}
