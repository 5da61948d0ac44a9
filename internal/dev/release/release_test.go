// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

var root = filepath.Join("..", "..", "..")

func entry(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "examples", "ideagent", "agent.json"))
	require.NoError(t, err)
	return data
}

// The rules are those of the registry's schema for agent.json: the members that it requires, no others, and the forms of their values.
func TestRegistryEntryIsValid(t *testing.T) {
	var e struct {
		ID, Name, Version, Description, Repository, License string
		Authors                                             []string
		Distribution                                        struct{ Binary map[string]map[string]any }
	}
	dec := json.NewDecoder(bytes.NewReader(entry(t)))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&e))
	require.Regexp(t, `^[a-z][a-z0-9-]*$`, e.ID)
	require.Regexp(t, `^[0-9]+\.[0-9]+\.[0-9]+$`, e.Version)
	for _, text := range append(e.Authors, e.Name, e.Description, e.License) {
		require.NotEmpty(t, text)
	}
	require.Contains(t, e.Repository, "https://")
	require.Len(t, e.Distribution.Binary, 6, "the registry wants every system")
	for platform, target := range e.Distribution.Binary {
		require.Regexp(t, `^(darwin|linux|windows)-(aarch64|x86_64)$`, platform)
		require.Len(t, target, 2)
		require.Contains(t, target["archive"], "/v"+e.Version+"/", "the registry wants the version in the address")
		require.Contains(t, target["cmd"], "./ideagent")
	}
	r, err := acpclient.ParseRegistry(entry(t))
	require.NoError(t, err)
	a, err := r.Find(e.ID)
	require.NoError(t, err)
	require.Equal(t, e.Version, a.Version)
	_, err = acpclient.BuiltinRegistry().Find(e.ID)
	require.Error(t, err, "the id belongs to another agent")
}

// Icons of the registry are square, and take the colour of the text around them.
func TestRegistryIconIsValid(t *testing.T) {
	icon, err := os.ReadFile(filepath.Join(root, "examples", "ideagent", "icon.svg"))
	require.NoError(t, err)
	require.Contains(t, string(icon), `width="16" height="16" viewBox="0 0 16 16"`)
	for _, m := range regexp.MustCompile(`(fill|stroke)="([^"]*)"`).FindAllStringSubmatch(string(icon), -1) {
		require.Contains(t, []string{"currentColor", "none"}, m[2])
	}
}

func TestReleaseFillsInTheRegistryEntry(t *testing.T) {
	filled, archives, err := fill(entry(t), "v1.2.3")
	require.NoError(t, err)
	require.Len(t, archives, 6)
	r, err := acpclient.ParseRegistry(filled)
	require.NoError(t, err)
	a := r.Agents()[0]
	require.Equal(t, "1.2.3", a.Version)
	for _, made := range archives {
		of := a.Distribution.Binary[made.platform]
		require.Equal(t, "https://github.com/ponte-go/ponte/releases/download/v1.2.3/"+made.name, of.Archive)
		require.Equal(t, "./"+made.program, of.Cmd)
	}
	again, _, err := fill(filled, "v1.2.3")
	require.NoError(t, err)
	require.Equal(t, string(filled), string(again))

	same, _, err := fill(entry(t), "v"+regexp.MustCompile(`"version": "([^"]*)"`).FindStringSubmatch(string(entry(t)))[1])
	require.NoError(t, err)
	require.Equal(t, string(entry(t)), string(same), "the entry is as a release writes it")

	_, _, err = fill([]byte(`{"id":"x","unknown":1}`), "v1.2.3")
	require.ErrorContains(t, err, "unknown")
	require.ErrorContains(t, release("1.2", t.TempDir(), "", ""), `"1.2" is not a tag such as v1.2.3`)
}

func TestArchivesHaveAProgramThatRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(file, []byte("#!"), 0o600))

	packed, err := pack("a.tar.gz", "ideagent", file)
	require.NoError(t, err)
	g, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	unpacked := tar.NewReader(g)
	h, err := unpacked.Next()
	require.NoError(t, err)
	require.Equal(t, "ideagent", h.Name)
	require.EqualValues(t, 0o755, h.Mode)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Equal(t, "#!", string(text))

	packed, err = pack("a.zip", "ideagent.exe", file)
	require.NoError(t, err)
	z, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	require.NoError(t, err)
	require.Len(t, z.File, 1)
	require.Equal(t, "ideagent.exe", z.File[0].Name)
	require.True(t, strings.HasPrefix(z.File[0].Mode().String(), "-rwx"))
}

// TestPlatformsHaveTheNamesOfGo has those of the registry.
func TestPlatformsHaveTheNamesOfGo(t *testing.T) {
	for platform, want := range map[string]string{
		"darwin-aarch64": "darwin/arm64", "linux-x86_64": "linux/amd64", "windows-x86_64": "windows/amd64",
	} {
		goos, arch := goPlatform(platform)
		require.Equal(t, want, goos+"/"+arch)
	}
}

// TestArchivesOfWindowsAreZip has the names of all archives, by their platforms.
func TestArchivesOfWindowsAreZip(t *testing.T) {
	_, archives, err := fill(entry(t), "v1.2.3")
	require.NoError(t, err)
	var got []archive
	for _, p := range []string{"darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64"} {
		got = append(got, archive{p, "ideagent-1.2.3-" + p + ".tar.gz", "ideagent"})
	}
	for _, p := range []string{"windows-aarch64", "windows-x86_64"} {
		got = append(got, archive{p, "ideagent-1.2.3-" + p + ".zip", "ideagent.exe"})
	}
	require.Equal(t, got, archives)
}

// TestReleaseErrorsSayWhere has what can be missing. Nothing is written then.
func TestReleaseErrorsSayWhere(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, release("v1.2.3", dir, filepath.Join(dir, "none.json"), ""), os.ErrNotExist)
	bad := filepath.Join(t.TempDir(), "agent.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	require.ErrorContains(t, release("v1.2.3", dir, bad, ""), bad+": ")
	good := filepath.Join(root, "examples", "ideagent", "agent.json")
	require.ErrorContains(t, release("v1.2.3", bad, good, ""), "not a directory")
	for _, name := range []string{"a.zip", "a.tar.gz"} {
		_, err := pack(name, "x", filepath.Join(dir, "none"))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	require.NoError(t, release("v1.2.3", filepath.Join(dir, "new", "dist"), good, "none"))
	filled, _, err := fill(entry(t), "v1.2.3")
	require.NoError(t, err)
	written, err := os.ReadFile(filepath.Join(dir, "new", "dist", "agent.json"))
	require.NoError(t, err)
	require.Equal(t, string(filled), string(written))
	sums, err := os.ReadFile(filepath.Join(dir, "new", "dist", "SHA256SUMS"))
	require.NoError(t, err)
	require.Empty(t, sums, "no platform was chosen")
}
