// SPDX-License-Identifier: Apache-2.0

//go:build unix

package chat_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program writes a shell script and returns its path.
func program(t *testing.T, dir, name, script string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return path
}

func TestPromptIsWrittenInAnEditor(t *testing.T) {
	p := newPerson(t)
	seen := filepath.Join(t.TempDir(), "seen")
	p.Editor = program(t, t.TempDir(), "my editor", `test "$1" = --wait || exit 9; cat "$2" >`+seen+`; ls "$2" >>`+seen+`; stat -c %a "$2" >>`+seen+`; printf 'say from\nthe editor\n' >"$2"`)
	p.Editor = "'" + p.Editor + "' --wait"
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("a draft", "\x07")
	screen.waitFor(t, "the editor")
	screen.types("\r")
	screen.waitFor(t, "[from")
	draft, err := os.ReadFile(seen)
	require.NoError(t, err)
	lines := strings.Split(string(draft), "\n")
	require.True(t, strings.HasPrefix(lines[0], "a draft"), lines[0])
	file := strings.TrimPrefix(lines[0], "a draft")
	require.Equal(t, "600", lines[1], "nobody else reads it")
	require.NoFileExists(t, file)
	screen.leaves(t, wait)
}

func TestInputStaysWhenTheEditorFails(t *testing.T) {
	for editor, says := range map[string]string{"false": "the input is as it was", "no-such-editor-here": "not found", "'half": "$VISUAL or $EDITOR", "": "$VISUAL or $EDITOR", "truncate -s 4194305": "4194304"} {
		p := newPerson(t)
		p.Editor = editor
		screen := p.sitDown()
		wait := p.start(t)
		screen.waitFor(t, "Talking to fake.")
		screen.types("say stays", "\x18", "\x05")
		screen.waitFor(t, says)
		screen.types("\r")
		screen.waitFor(t, "[stays]")
		screen.leaves(t, wait)
	}
}

func TestDroppedFiles(t *testing.T) {
	elsewhere := t.TempDir()
	png := []byte("\x89PNG not much of a picture")
	picture, notes := filepath.Join(elsewhere, "a shot.png"), filepath.Join(elsewhere, "notes.txt")
	require.NoError(t, os.WriteFile(picture, png, 0o600))
	require.NoError(t, os.WriteFile(notes, nil, 0o600))
	encoded := base64.StdEncoding.EncodeToString(png)
	for name, c := range map[string]struct{ agent, pasted, shows, sends string }{
		"quoted":               {"able", "'" + picture + "' ", `@"` + picture + `"`, "image/png " + encoded},
		"with backslashes":     {"able", strings.ReplaceAll(picture, " ", `\ `), `@"` + picture + `"`, "image/png " + encoded},
		"as it is":             {"able", picture, `@"` + picture + `"`, "image/png " + encoded},
		"a URL":                {"able", "file://" + strings.ReplaceAll(picture, " ", "%20"), `@"` + picture + `"`, "image/png " + encoded},
		"agent without eyes":   {"", picture, `@"` + picture + `"`, "a shot.png file://"},
		"not a picture":        {"able", notes, "@" + notes, "notes.txt file://"},
		"there is no file":     {"able", notes + "x", notes + "x", "["},
		"part of a text":       {"able", "see " + notes, "see " + notes, "["},
		"inside the directory": {"able", "DIR/sub.png", "@sub.png", "image/png " + encoded},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.Agent.Args = append(p.Agent.Args, c.agent)
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "sub.png"), png, 0o600))
			screen := p.sitDown()
			wait := p.start(t)
			screen.waitFor(t, "Talking to fake.")
			screen.types("links; say ", "\x1b[200~"+strings.Replace(c.pasted, "DIR", p.Dir, 1)+"\x1b[201~", "; say done", "\r")
			screen.waitFor(t, "[done]")
			screen.leaves(t, wait)
			left := strings.NewReplacer("\n", "", " ", "").Replace(sgr.ReplaceAllString(p.out.String(), ""))
			for _, want := range []string{c.shows, c.sends} {
				require.Contains(t, left, strings.ReplaceAll(want, " ", ""))
			}
			if strings.HasPrefix(c.sends, "image/") {
				require.NotContains(t, left, "pngfile://", "a picture is not sent as a link, too")
			}
		})
	}
}

// A picture that cannot be sent is an error, and nothing is sent.
func TestPictureThatCannotBeSent(t *testing.T) {
	p := newPerson(t)
	p.Agent.Args = append(p.Agent.Args, "able")
	big, gone := filepath.Join(p.Dir, "big.png"), filepath.Join(p.Dir, "gone.png")
	for _, at := range []string{big, gone} {
		require.NoError(t, os.WriteFile(at, nil, 0o600))
	}
	require.NoError(t, os.Truncate(big, 8<<20+1))
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("say sent @gone")
	screen.waitFor(t, "@gone.png")
	require.NoError(t, os.Remove(gone))
	screen.types("\t", "\r")
	screen.waitFor(t, "no such file")
	screen.types("\x15", "say sent @big.png ", "\r")
	screen.waitFor(t, "make the picture smaller")
	screen.leaves(t, wait)
	require.NotContains(t, p.out.String(), "[sent")
}

func TestPictureOfTheClipboard(t *testing.T) {
	tools := t.TempDir()
	t.Setenv("PATH", tools)
	p := newPerson(t)
	p.Agent.Args = append(p.Agent.Args, "able")
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("\x16")
	screen.waitFor(t, "pictures in the clipboard need wl-paste or xclip")
	program(t, tools, "wl-paste", "exit 1")
	screen.types("\x16")
	screen.waitFor(t, "there is no picture in the clipboard")
	program(t, tools, "xclip", `test "$*" = "-selection clipboard -target image/png -out" && printf '\211PNG copied'`)
	screen.types("links", "\x16")
	screen.waitFor(t, "@/")
	screen.types(";links", "\r")
	screen.waitFor(t, "[image/png "+base64.StdEncoding.EncodeToString([]byte("\x89PNG copied")))
	screen.leaves(t, wait)
	kept := sgr.ReplaceAllString(p.out.String(), "")
	at := strings.Index(kept, "@/")
	path, _, _ := strings.Cut(strings.ReplaceAll(kept[at+1:], "\n", ""), " ")
	require.Contains(t, path, "pictures-")
	require.NoFileExists(t, path, "it is removed at the end")
}

func TestMessageIntoTheRunningTurn(t *testing.T) {
	p := newPerson(t)
	p.Agent.Args = append(p.Agent.Args, "able")
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("say begun; await", "\r")
	screen.waitFor(t, "[begun]")
	screen.types("not that file")
	screen.waitFor(t, "not that file")
	mark := screen.mark()
	screen.types("\x13")
	screen.waitFor(t, "[told: not that file]")
	require.Eventually(t, func() bool { // the message itself is shown, too
		return strings.Count(screen.String()[mark:], "not that file") >= 2
	}, time.Minute, 2*time.Millisecond)
	screen.leaves(t, wait)
	require.Contains(t, sgr.ReplaceAllString(p.out.String(), ""), "› not that file", "the conversation has it")

	p = newPerson(t) // an agent that takes nothing
	screen = p.sitDown()
	wait = p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("say begun; hang", "\r")
	screen.waitFor(t, "[begun]")
	screen.types("say later", "\x13")
	screen.waitFor(t, "next: say later")
	screen.types("\x04")
	wait()
}

// The whole conversation is in the terminal's scrollback after the end, and code as it is in the answer.
func TestWholeConversationStays(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	code := "code := \"" + strings.Repeat("x", 200) + "\""
	screen.types("\x1b[200~say \n```\n"+code+"\n```\n.\x1b[201~", "\r")
	copied := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(code))
	require.Eventually(t, func() bool { // when the answer is there
		screen.types("/copy code", "\r")
		time.Sleep(20 * time.Millisecond)
		return strings.Contains(screen.String(), copied)
	}, time.Minute, 50*time.Millisecond)
	screen.types("flood", "\r")
	screen.waitFor(t, "2999")
	screen.types("say the end", "\r")
	screen.waitFor(t, "[the end]")
	screen.leaves(t, wait)
	left := sgr.ReplaceAllString(p.out.String(), "")
	require.Contains(t, left, "\n"+code+"\n", "neither broken nor indented")
	for _, line := range []string{"0", "1500", "2999"} {
		require.Contains(t, left, line)
	}
	require.Contains(t, left, "[the end]")
}

func TestCtrlZSuspendsTheTerminal(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("\x1a")
	require.Eventually(t, func() bool { return screen.suspended.Load() == 1 }, time.Minute, 2*time.Millisecond)
	screen.leaves(t, wait)
}
