// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

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

// installTimeout bounds the installation of a set of peers.
const installTimeout = 5 * time.Minute

// node returns the directory that has the peers of Node.js in its node_modules, and installs them if need be.
func node(t testing.TB) string { return installed(t, nodePeers) }

// python returns the interpreter that has the peers of Python, and installs them if need be.
func python(t testing.TB) string { return filepath.Join(installed(t, pythonPeers), "bin", "python") }

// deepTier skips a test that is for the deep tier of CI.
func deepTier(t testing.TB) {
	t.Helper()
	if os.Getenv("PONTE_INTEROP_DEEP") != "1" {
		t.Skip("for the deep tier: set PONTE_INTEROP_DEEP=1")
	}
}

// installed skips the test if the peers are not to be had; where they are required it fails.
func installed(t testing.TB, peers func() (string, error)) string {
	t.Helper()
	dir, err := peers()
	switch {
	case err == nil:
		return dir
	case os.Getenv("PONTE_INTEROP") == "require" || os.Getenv("CI") == "true":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return ""
}

var nodePeers = sync.OnceValues(func() (string, error) { return nodePackages("node", "npm") })

// nodePackages installs what the lock file in a directory names, with npm's flags, or without optional packages if there are none.
func nodePackages(kind, pins string, flags ...string) (string, error) {
	version, err := versionOf("node", "--version")
	if err != nil {
		return "", errors.New("node is missing: install Node.js 20.12 or newer (acpx asks for 22.13), with npm")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is missing: it comes with Node.js")
	}
	// Optional dependencies are native helpers, which the peers do without. The lock file names every version and checksum; "npm ci"
	// would refuse it where a registry lacks an optional package for some other platform.
	if flags == nil {
		flags = []string{"--omit=optional"}
	}
	return install(kind, version, []string{pins + "/package.json", pins + "/package-lock.json"}, func(dir string) []string {
		return append([]string{"npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}, flags...)
	})
}

var pythonPeers = sync.OnceValues(func() (string, error) { return pythonPackages("python", "requirements.txt") })

// pythonPackages installs what a file of requirements names.
func pythonPackages(kind, requirements string) (string, error) {
	return packagesOf("python3", kind, requirements, "sys.version_info >= (3, 10)", "3.10 or newer")
}

// newerPython returns an interpreter that is newer than the system's may be, from PATH or pyenv, or python3.
func newerPython() string {
	home, _ := os.UserHomeDir()
	for _, version := range []string{"3.13", "3.14", "3.12"} {
		found, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", version+".*", "bin", "python3"))
		for _, name := range append([]string{"python" + version}, found...) {
			if _, err := versionOf(name, "--version"); err == nil {
				return name
			}
		}
	}
	return "python3"
}

// packagesOf installs what a file of requirements names, with an interpreter for which a condition holds.
func packagesOf(python, kind, requirements, condition, wanted string) (string, error) {
	version, err := versionOf(python, "-c", "import sys, venv, ensurepip; assert "+condition+"; print(sys.version, sys.prefix)")
	if err != nil {
		return "", fmt.Errorf("python3 is missing, of the wrong version or without venv: install Python %s with its venv module", wanted)
	}
	return install(kind, version, []string{"python/" + requirements},
		func(dir string) []string { return []string{python, "-m", "venv", dir} },
		func(dir string) []string {
			return []string{
				filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
				"--requirement", filepath.Join(dir, requirements),
			}
		})
}

func versionOf(command string, args ...string) (string, error) {
	out, err := exec.Command(command, args...).Output()
	return string(out), err
}

// install copies the pin files to a new directory and runs commands there, unless there is a directory for the same pins already. It
// is finished under another name and then renamed, so that a directory that exists is complete.
func install(kind, version string, pins []string, commands ...func(dir string) []string) (string, error) {
	root := os.Getenv("PONTE_INTEROP_DIR")
	if root == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory, set PONTE_INTEROP_DIR: %w", err)
		}
		root = filepath.Join(cache, "ponte-interop")
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n", version)
	contents := map[string][]byte{}
	for _, pin := range pins {
		data, err := os.ReadFile(pin)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%q %d\n%s", pin, len(data), data)
		contents[filepath.Base(pin)] = data
	}
	dir := filepath.Join(root, fmt.Sprintf("%s-%x", kind, hash.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return "", err
	}
	unfinished, err := os.MkdirTemp(root, kind+"-unfinished-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(unfinished) }()
	start := time.Now()
	for name, data := range contents {
		if err := os.WriteFile(filepath.Join(unfinished, name), data, 0o666); err != nil {
			return "", err
		}
	}
	for _, command := range commands {
		if err := runInstaller(command(unfinished)); err != nil {
			return "", err
		}
	}
	if err := os.Rename(unfinished, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return "", err
		}
		// Another run was quicker.
	}
	fmt.Fprintf(os.Stderr, "interop: installed the peers of %s in %.1f s\n", kind, time.Since(start).Seconds())
	return dir, nil
}

func runInstaller(command []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the peers could not be installed (a package registry has to be in reach): %s: %w\n%s",
			filepath.Base(command[0]), err, bytes.TrimSpace(out))
	}
	return nil
}
