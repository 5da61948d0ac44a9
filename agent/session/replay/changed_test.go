// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sameAsFile compares a text with a file of testdata.
func sameAsFile(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// shopRecording is the recording of the shop's session, filled.
func shopRecording(t *testing.T, o replay.PlayOptions) *replay.Recording {
	st, _ := newShop().live(t)
	r, err := replay.Make(t.Context(), st, "s", replay.Options{})
	require.NoError(t, err)
	for i := range r.Turns {
		require.NoError(t, replay.Fill(t.Context(), r, i, newShop().agent(), none{}, o))
	}
	return r
}

// messagesOf calls change for the messages of a turn that fit, and reports whether there are any.
func messagesOf(r *replay.Recording, turn int, fits func(p *model.Part) bool, change func(p *model.Part)) {
	for _, at := range r.Turns[turn].Messages {
		for i := range r.Messages[at].Parts {
			if p := &r.Messages[at].Parts[i]; fits(p) {
				change(p)
				return
			}
		}
	}
}

func kindIs(kind model.PartKind) func(p *model.Part) bool {
	return func(p *model.Part) bool { return p.Kind == kind }
}

// changes are changes of a recording, which a replay of the session's own agent finds.
var changes = map[string]func(r *replay.Recording, turn int){
	"nothing":       func(*replay.Recording, int) {},
	"reason done":   func(r *replay.Recording, n int) { r.Turns[n].Reason = "done" },
	"reason failed": func(r *replay.Recording, n int) { r.Turns[n].Reason = "failed" },
	"reason pending": func(r *replay.Recording, n int) {
		r.Turns[n].Reason = "pending"
	},
	"reason cancelled":   func(r *replay.Recording, n int) { r.Turns[n].Reason = "cancelled" },
	"reason interrupted": func(r *replay.Recording, n int) { r.Turns[n].Reason = "interrupted" },
	"prompt":             func(r *replay.Recording, n int) { r.Turns[n].Prompt[0].Text += " or not" },
	"the last message is gone": func(r *replay.Recording, n int) {
		r.Turns[n].Messages = r.Turns[n].Messages[:len(r.Turns[n].Messages)-1]
	},
	"two messages are gone": func(r *replay.Recording, n int) {
		r.Turns[n].Messages = r.Turns[n].Messages[:len(r.Turns[n].Messages)-2]
	},
	"the first response is gone": func(r *replay.Recording, n int) { r.Turns[n].Messages = slices.Delete(r.Turns[n].Messages, 1, 2) },
	"another answer": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartText), func(p *model.Part) { p.Text = "else" })
	},
	"any answer": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartText), func(p *model.Part) { p.Text = replay.Any })
	},
	"another tool": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolCall), func(p *model.Part) { p.Tool = "mail" })
	},
	"other arguments": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolCall), func(p *model.Part) { p.Args = model.RawArgs(`{"n":"x"}`) })
	},
	"another id": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolCall), func(p *model.Part) { p.CallID = "other" })
	},
	"another result": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Text += " now" })
	},
	"any result": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Text = replay.Any })
	},
	"part of a result": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Text = p.Text[:2] + replay.Any })
	},
	"another outcome": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Outcome = model.OutcomeDenied })
	},
	"skipped": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Outcome = model.OutcomeSkipped })
	},
	"interrupted": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Outcome = model.OutcomeInterrupted })
	},
	"a retry": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Kind = model.PartRetry })
	},
	"a user's result": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Kind = model.PartUser })
	},
	"data": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Data = []byte("x") })
	},
	"data left out": func(r *replay.Recording, n int) {
		messagesOf(r, n, kindIs(model.PartToolReturn), func(p *model.Part) { p.Data = []byte("left out") })
	},
	"a result more": func(r *replay.Recording, n int) {
		for _, at := range r.Turns[n].Messages[1:] {
			if m := r.Messages[at]; m.Kind == model.KindRequest {
				m.Parts = append(m.Parts, model.ToolReturn("x", "find", "more"))
				return
			}
		}
	},
	"a result less": func(r *replay.Recording, n int) {
		for _, at := range r.Turns[n].Messages[1:] {
			if m := r.Messages[at]; m.Kind == model.KindRequest {
				m.Parts = m.Parts[1:]
				return
			}
		}
	},
	"no decisions": func(r *replay.Recording, n int) { r.Turns[n].Decisions = nil },
	"denied": func(r *replay.Recording, n int) {
		for i := range r.Turns[n].Decisions {
			r.Turns[n].Decisions[i].Decision = model.Decision{Verdict: model.VerdictDeny, Reason: "never"}
		}
	},
	"a decision more": func(r *replay.Recording, n int) {
		r.Turns[n].Decisions = append(r.Turns[n].Decisions, replay.Decided{Step: 1, Call: "x", Decision: model.Decision{Verdict: model.VerdictAllow}})
	},
	"not filled": func(r *replay.Recording, n int) { r.Turns[n].Checked = nil },
	"step less":  func(r *replay.Recording, n int) { r.Turns[n].Checked.Steps = r.Turns[n].Checked.Steps[1:] },
	"ran less":   func(r *replay.Recording, n int) { r.Turns[n].Checked.Ran = r.Turns[n].Checked.Ran[:1] },
	"ran more": func(r *replay.Recording, n int) {
		r.Turns[n].Checked.Ran = append(r.Turns[n].Checked.Ran, []string{"z", "y"})
	},
	"another ran": func(r *replay.Recording, n int) { r.Turns[n].Checked.Ran[1] = []string{"z"} },
	"output":      func(r *replay.Recording, n int) { r.Turns[n].Checked.Output = json.RawMessage(`"other"`) },
	"end":         func(r *replay.Recording, n int) { r.Turns[n].Checked.End = "it burned" },
	"instructions": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Instructions = "You ran\na shop." })
	},
	"any instructions": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Instructions = "You " + replay.Any + " shop." })
	},
	"description": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Tools[1].Description = "To else." })
	},
	"strict": func(r *replay.Recording, _ int) { eachFrame(r, func(f *replay.Frame) { f.Tools[0].Strict = true }) },
	"schema": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Tools[2].Schema = json.RawMessage(`{"type":"object"}`) })
	},
	"no JSON": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Tools[2].Schema = json.RawMessage(`"x"`) })
	},
	"order":       func(r *replay.Recording, _ int) { eachFrame(r, func(f *replay.Frame) { slices.Reverse(f.Tools) }) },
	"a tool less": func(r *replay.Recording, _ int) { eachFrame(r, func(f *replay.Frame) { f.Tools = f.Tools[1:] }) },
	"choice": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.ToolChoice.Mode = model.ToolChoiceNone })
	},
	"schema of the output": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Output = &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{}`)} })
	},
	"settings": func(r *replay.Recording, _ int) {
		eachFrame(r, func(f *replay.Frame) { f.Settings = json.RawMessage(`{"max_tokens":7}`) })
	},
}

func eachFrame(r *replay.Recording, change func(f *replay.Frame)) {
	for i := range r.Frames {
		change(&r.Frames[i])
	}
}

// TestChangedRecordingsAreToldApart changes a recording in each way, in each turn, and compares what
// is said of it. The files have what people have read and found good.
func TestChangedRecordingsAreToldApart(t *testing.T) {
	for name, o := range map[string]replay.PlayOptions{
		"recorded": {}, "real": {Real: shopTools},
		"ignoring": {Ignore: []replay.Aspect{replay.Instructions, replay.Tools, replay.Settings, replay.Results}},
	} {
		var said strings.Builder
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopRecording(t, o)
				file := filepath.Join(t.TempDir(), "r.json")
				require.NoError(t, r.Save(file))
				for _, what := range slices.Sorted(keysOf(changes)) {
					for n := range r.Turns {
						changed, err := replay.Load(file)
						require.NoError(t, err)
						outcome := tried(func() error {
							changes[what](changed, n)
							return replay.Play(t.Context(), changed, n, newShop().agent(), none{}, o)
						})
						fmt.Fprintf(&said, "%s, turn %d: %s\n", what, n+1, outcome)
					}
				}
			})
		})
		sameAsFile(t, "changed_"+name+".txt", said.String())
	}
}

// tried returns an error in words. A change that the recording has no place for is none.
func tried(f func() error) (outcome string) {
	defer func() {
		if recover() != nil {
			outcome = "there is no such thing in it"
		}
	}()
	err := f()
	if err == nil {
		return "the same"
	}
	text := anyCall.ReplaceAllString(err.Error(), ": call c$1 of a tool\n")
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n\t")
}

// anyCall matches a call of a response. Several run at the same time, and any may be the first.
var anyCall = regexp.MustCompile(`: call c(\d+)-\d of \w+\n`)

func keysOf[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestRecordingsAreChecked has files that cannot be replayed.
func TestRecordingsAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	message := `{"v":1,"kind":"request","parts":[{"kind":"user","text":"a"}]}`
	for text, want := range map[string]string{
		`{"version":1,"messages":[` + message + `],"files":[{"path":"/a"}],"frames":[{}],"turns":[{"before":[0],"messages":[0],"files":[0],"checked":{"steps":[0]}}]}`: "",
		`{"version":0}`: "it has version 0, and this program reads 1 to 1", `{"version":2}`: "it has version 2, and this program reads 1 to 1",
		`{"version":1,"messages":[null]}`:                                        "a message is null",
		`{"version":1,"messages":[` + message + `],"turns":[{},{"before":[1]}]}`: "turn 2 names a message that is not there",
		`{"version":1,"messages":[` + message + `],"turns":[{"messages":[-1]}]}`: "turn 1 names a message that is not there",
		`{"version":1,"messages":[` + message + `],"turns":[{"messages":[1]}]}`:  "turn 1 names a message that is not there",
		`{"version":1,"turns":[{"files":[0]}]}`:                                  "turn 1 names a file that is not there",
		`{"version":1,"turns":[{"checked":{"steps":[0]}}]}`:                      "turn 1 names a frame that is not there",
		`{"version":1`: "unexpected end of JSON input",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := replay.Load(file)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, "replay: "+file+": "+want)
	}
	_, err := replay.Load(file + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "replay: open ")
	require.ErrorContains(t, new(replay.Recording).Save(filepath.Join(file, "x")), "replay: save "+file)
	broken := &replay.Recording{Messages: []*model.Message{{}}}
	require.ErrorContains(t, broken.Save(file), "replay: save "+file+": json: ")
}

// TestRecordingsHaveALineForEachThing compares a whole file.
func TestRecordingsHaveALineForEachThing(t *testing.T) {
	r := &replay.Recording{
		Session: "s", Title: `a "title" [x] {y} \`, Notes: []string{"one", "two, [three]"}, Model: model.Info{Provider: "p", Name: "m", Media: []string{"image", "audio"}},
		Messages: []*model.Message{model.UserText("a <b>, {c}"), model.Response(model.Text("x"), model.ToolCall("1", "t", `{"a":[1,2]}`))},
		Files:    []replay.File{{Path: "/a/b.txt", Text: "text"}, {Path: "/a/c/d", Data: []byte{0xff}}}, Frames: []replay.Frame{{Agent: "a", Instructions: "i"}},
		Turns: []replay.Turn{
			{ID: "t1", Messages: []int{0, 1}, Reason: "done", Files: []int{0, 1}, Checked: &replay.Checked{Ran: [][]string{nil, {"1"}}}},
			{ID: "t2", Before: []int{0, 1}, Messages: []int{}, Reason: "failed", Summaries: []string{"first", "second"}},
		},
	}
	file := filepath.Join(t.TempDir(), "deep", "r.json")
	require.NoError(t, r.Save(file))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	sameAsFile(t, "recording.json", string(data))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "sessions are private")
	read, err := replay.Load(file)
	require.NoError(t, err)
	require.Equal(t, r, read)

	space, err := r.Stage(0).Workspace()
	require.NoError(t, err)
	for path, want := range map[string]string{"/a/b.txt": "text", "/a/c/d": "\xff"} {
		got, err := space.Disk().ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.Equal(t, []string{"/a"}, space.Roots())
	r.Files[1].Path = "/ab/d"
	space, err = r.Stage(0).Workspace()
	require.NoError(t, err)
	require.Equal(t, []string{"/"}, space.Roots())
	space, err = r.Stage(1).Workspace()
	require.NoError(t, err)
	require.Equal(t, []string{"/"}, space.Roots())

	m := r.Stage(1).Model()
	require.Equal(t, r.Model, m.Info())
	for _, want := range []string{"first", "second", "second"} {
		resp, err := m.Generate(t.Context(), &model.Request{}, nil)
		require.NoError(t, err)
		require.Equal(t, want, resp.Text())
		require.Equal(t, model.FinishStop, resp.Finish)
	}
	_, err = r.Stage(0).Model().Generate(t.Context(), &model.Request{}, nil)
	require.EqualError(t, err, "replay: a model was asked for something that is not a response of the session: use an agent that asks no other models")
}

// TestToolsOfRecordingsAreKnown has the tools of the shop in its recording.
func TestToolsOfRecordingsAreKnown(t *testing.T) {
	r := shopRecording(t, replay.PlayOptions{})
	all, err := replay.ToolsOf[none](r.Stage(0))
	require.NoError(t, err)
	names := func(tools []*toolset.Tool[none]) (all []string) {
		for _, tool := range tools {
			all = append(all, tool.Def.Name)
		}
		return all
	}
	require.Equal(t, shopTools, names(all))
	some, err := replay.ToolsOf[none](r.Stage(0), "stock", "find")
	require.NoError(t, err)
	require.Equal(t, []string{"find", "stock"}, names(some))
	require.Equal(t, "To find.", some[0].Def.Description)
	_, err = replay.ToolsOf[none](r.Stage(0), "find", "mail")
	require.EqualError(t, err, `replay: the recording does not know all of the tools ["find" "mail"]: fill it with the agent of the session first`)
	var cases strings.Builder
	require.NoError(t, r.WriteCases(&cases))
	sameAsFile(t, "cases.txt", cases.String())
	r.Turns = r.Turns[1:]
	require.EqualError(t, r.WriteCases(&cases), "replay: session s has no turn that can be a case")
}

// TestFilledRecordingsSayWhatRan compares what is filled in with what people have read and found
// good, for a shop whose limits end some of its turns.
func TestFilledRecordingsSayWhatRan(t *testing.T) {
	for name, calls := range map[string]int{"plenty": 12, "few": 3} {
		var text strings.Builder
		made := func() *shop {
			s := newShop()
			s.limits.ToolCalls = calls
			return s
		}
		st, _ := made().live(t)
		r, err := replay.Make(t.Context(), st, "s", replay.Options{})
		require.NoError(t, err)
		require.Equal(t, "", r.Model.Name, "responses of a test double name no model")
		for i := range r.Turns {
			require.NoError(t, replay.Fill(t.Context(), r, i, made().agent(), none{}, replay.PlayOptions{Real: shopTools}))
			c := r.Turns[i].Checked
			for _, ids := range c.Ran {
				slices.Sort(ids)
			}
			slices.SortFunc(c.Asked, func(a, b replay.PastCall) int { return strings.Compare(a.ID, b.ID) })
			fmt.Fprintf(&text, "%s, turn %d, %s: steps %v, ran %v, own %v, asked %v, output %s, end %q\n",
				name, i+1, r.Turns[i].Reason, c.Steps, c.Ran, c.Own, c.Asked, c.Output, c.End)
		}
		require.Equal(t, model.Info{Provider: "fake", Name: "whim"}, r.Model)
		text.WriteString(strings.Join(r.Notes, "\n") + "\n")
		require.Equal(t, name == "few", strings.Contains(text.String(), "usage limit reached"))
		sameAsFile(t, "filled_"+name+".txt", text.String())
	}
}
