// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// longRule takes much longer than all other rules.
const longRule = "Long arguments are exact, at linear cost"

// responded changes what Generate returns.
func responded(change func(req *model.Request, msg *model.Message, err error) (*model.Message, error)) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			msg, err := next(ctx, req, sink)
			return change(req, msg, err)
		})
	}
}

// streamed replaces the sink.
func streamed(by func(sink model.Sink) model.Sink) func(*provider) model.Model {
	return func(p *provider) model.Model {
		return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
			if sink != nil {
				sink = by(sink)
			}
			return next(ctx, req, sink)
		})
	}
}

// TestRunFindsAllRulesThatAModelBreaks breaks one habit of a model for all rules, and compares all
// that the suite says.
func TestRunFindsAllRulesThatAModelBreaks(t *testing.T) {
	said := openWording(t)
	models := map[string]func(*provider) model.Model{
		"the last delta is lost": streamed(func(sink model.Sink) model.Sink {
			var last *model.Delta
			return func(d model.Delta) (err error) {
				if last != nil {
					err = sink(*last)
				}
				last = &d
				return err
			}
		}),
		"deltas are not sent": streamed(func(model.Sink) model.Sink { return nil }),
		"calls change places": responded(func(_ *model.Request, msg *model.Message, err error) (*model.Message, error) {
			if msg != nil {
				slices.Reverse(msg.Parts)
			}
			return msg, err
		}),
		"usage is lost":   answered(func(m *model.Message) { m.Usage = model.Usage{} }),
		"it always stops": answered(func(m *model.Message) { m.Finish = model.FinishStop }),
		"nothing is said": answered(func(m *model.Message) { m.Parts = nil }),
		"text is trimmed": answered(func(m *model.Message) {
			for i := range m.Parts {
				m.Parts[i].Text = strings.ToUpper(m.Parts[i].Text)
			}
		}),
		"errors are answers": responded(func(_ *model.Request, msg *model.Message, err error) (*model.Message, error) {
			if err != nil {
				return &model.Message{Kind: model.KindResponse, Finish: model.FinishOther, Provider: "played", Model: "one"}, nil
			}
			return msg, nil
		}),
		"errors are plain": responded(func(_ *model.Request, msg *model.Message, err error) (*model.Message, error) {
			if err != nil {
				err = errors.New("it broke")
			}
			return msg, err
		}),
		"errors are wrapped": responded(func(_ *model.Request, msg *model.Message, err error) (*model.Message, error) {
			if err != nil {
				err = fmt.Errorf("played:\n%w", err)
			}
			return msg, err
		}),
		"all is refused": func(p *provider) model.Model {
			return around(p, func(context.Context, *model.Request, model.Sink, generateFunc) (*model.Message, error) {
				return nil, model.ErrUnsupported
			})
		},
		"all is taken": func(p *provider) model.Model {
			if p.Answer == nil {
				return p
			}
			return unchecked(p)
		},
		"requests grow": func(p *provider) model.Model {
			if p.Rule == "Requests may be concurrent" { // they would race
				return p
			}
			return asked(func(req *model.Request) error {
				req.Messages = append(req.Messages, model.UserText("more"))
				return nil
			})(p)
		},
		"nothing is sent":  sending(func(*model.Request) string { return "" }),
		"the model alone":  sending(func(req *model.Request) string { return req.Instructions }),
		"twice is sent":    sending(func(req *model.Request) string { return encode(req) + encode(req) }),
		"as it is, sent":   sending(encodeAsIs),
		"Info says little": with(func() model.Info { return model.Info{Provider: "played", Name: "one"} }),
		"Info says much": with(func() model.Info {
			return model.Info{
				Provider: "played", Name: "one", NativeOutput: true, NativeSearch: true, NativeFetch: true, NativeCompaction: true, NoForcedCalls: true,
				Media: []string{"image", "audio", "video", "text", "application/pdf"}, MediaURLs: []string{"image", "audio", "video", "text", "application/pdf"},
			}
		}),
		"native tools are refused": func(p *provider) model.Model {
			p.info = func(i *model.Info) { i.NativeSearch, i.NativeFetch, i.NativeCompaction = true, true, true }
			return asked(func(req *model.Request) error {
				if s := req.Settings; s != nil && (len(s.NativeTools) > 0 || s.CompactAt > 0) {
					return model.ErrUnsupported
				}
				return nil
			})(p)
		},
		"settings break it": asked(func(req *model.Request) error {
			if req.Settings != nil {
				return errWire
			}
			return nil
		}),
		"another name": with(func() model.Info { return model.Info{Provider: "else", Name: "two", NativeOutput: true} }),
	}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		t.Run(name, func(t *testing.T) {
			var w wires
			found := conform(t, w.watch(modeltest.Harness{
				Provider: true, Citations: true,
				New: func(t testing.TB, s modeltest.Scenario) model.Model {
					if s.Rule == longRule {
						t.Skip("another rule")
					}
					return models[name](w.new(t, s))
				},
			}))
			require.Empty(t, found.inside)
			said.same(t, name, described(found.problems, 140))
		})
	}
}

// TestHarnessesSayWhatIsTested compares how each case ends with harnesses that know less, for a good
// model and for one that says nothing.
func TestHarnessesSayWhatIsTested(t *testing.T) {
	said := openWording(t)
	harnesses := map[string]modeltest.Harness{
		"no provider": {}, "unscripted": {Unscripted: true}, "JSON": {ArgsAsJSON: true, Provider: true}, "citations": {Citations: true},
		"known": {Known: map[string]string{"Call ids are unique": "so\nit is", "Requests may be concurrent/text": "here, too"}},
	}
	for _, name := range slices.Sorted(maps.Keys(harnesses)) {
		for _, how := range []string{"good", "good, sent", "mute, sent"} {
			t.Run(name+", "+how, func(t *testing.T) {
				var w wires
				h := harnesses[name]
				if strings.Contains(how, "sent") {
					h.Sent = w.watch(h).Sent
				}
				h.New = func(t testing.TB, s modeltest.Scenario) model.Model {
					if s.Rule == longRule {
						t.Skip("another rule")
					}
					p := w.new(t, s)
					if strings.HasPrefix(how, "mute") {
						return answered(func(m *model.Message) { m.Parts = nil })(p)
					}
					return p
				}
				found := conform(t, h)
				var lines []string
				last := ""
				for _, r := range found.results {
					end := fmt.Sprintf("%s: %s: %s: ", r.Outcome, r.Rule, r.Reason)
					switch {
					case r.Outcome == modeltest.OutcomePassed, r.Rule == longRule:
					case end == last:
						lines[len(lines)-1] += ", " + r.Case
					default:
						lines, last = append(lines, end+r.Case), end
					}
				}
				said.same(t, name+", "+how, strings.Join(lines, "\n")+"\n"+described(found.problems, 100))
			})
		}
	}
}

func TestTheSuiteWaitsForHalfAMinute(t *testing.T) {
	for took, problems := range map[time.Duration]int{30 * time.Second: 0, 30*time.Second + 1: 1} {
		found, _ := conformOf(t, "Info is complete, fast and constant", nil, func(_ testing.TB, p *provider) model.Model {
			return with(func() model.Info {
				time.Sleep(took)
				return p.Info()
			})(p)
		})
		require.Len(t, found.problems, problems, "%v: %v", took, found.problems)
	}
}
