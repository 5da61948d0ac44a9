// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/ponte-go/ponte/internal/guard"
)

// hidden are the directories in a user's home that commonly hold keys.
var hidden = []string{".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/gh", ".password-store"}

// open checks that the machine can have the sandbox. It returns the function that makes a command one that runs in it.
func (s *Sandbox) open(w *Workspace) (wrapper, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w: the program bwrap is not installed (package bubblewrap)", ErrSandbox)
	}
	args, err := s.args(w)
	if err != nil {
		return nil, err
	}
	prefix := append([]string{bwrap}, args...)
	test := slices.Concat(prefix, []string{"--chdir", w.roots[0].real, "--", "/bin/sh", "-c", "exit 0"})
	if out, err := exec.Command(test[0], test[1:]...).CombinedOutput(); err != nil {
		if text := bytes.TrimSpace(out); len(text) > 0 {
			err = fmt.Errorf("%s", text)
		}
		return nil, fmt.Errorf("%w: bwrap does not work here, perhaps because user namespaces are forbidden: %w", ErrSandbox, err)
	}
	return func(g *guard.Command, real, dir string) error {
		program, err := guard.Lookup(*g) // bwrap would say what is missing only in the output
		if err != nil {
			return err
		}
		if dir != real && w.samePlace(dir, real) {
			real = dir // as the user knows it
		}
		argv := slices.Concat(prefix, []string{"--chdir", real, "--", program}, g.Args)
		g.Path, g.Args = argv[0], argv[1:]
		return nil
	}, nil
}

// samePlace reports whether both paths lead to the same directory.
func (w *Workspace) samePlace(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// args returns the arguments of bwrap that do not depend on the command.
func (s *Sandbox) args(w *Workspace) ([]string, error) {
	args := []string{
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run/user",
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	}
	if _, err := os.Stat("/run/user"); err != nil {
		args = slices.Delete(args, len(args)-6, len(args)-4)
	}
	if !s.Network {
		args = append(args, "--unshare-net")
	}
	hide := s.Hidden
	if hide == nil {
		if home, err := os.UserHomeDir(); err == nil {
			for _, name := range hidden {
				hide = append(hide, filepath.Join(home, name))
			}
		}
	}
	for _, dir := range hide {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", dir)
		}
	}
	for _, path := range s.Writable {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("local: sandbox: the writable path: %w", err)
		}
		args = append(args, "--bind", real, real)
	}
	for _, r := range w.roots {
		args = append(args, "--bind", r.real, r.real)
	}
	return args, nil
}
