// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/internal/keys"
)

// environment returns the value of a variable, as os.Getenv does.
type environment func(name string) string

// choice is a model, and why it was chosen.
type choice struct {
	model.Model
	// name is the value of -model that would choose it.
	name, why string
}

// chooser chooses a model as the user wants, or by what there is.
type chooser struct {
	env     environment
	program string
	demo    func(pace time.Duration) model.Model // the offline model, if there is one
	pace    time.Duration                        // of it
	// says is where the name of a model comes from, "-model" if it is empty.
	says string
	// tell is called once with the choice.
	tell func(choice)
	// atEnd has a function called before the program ends, nil for nothing.
	atEnd func(func() error)
	// stored are the keys that the user has stored, nil for none.
	stored *keys.Keys
	// patience is how long a local Ollama may take to answer, 300 ms if 0.
	patience time.Duration
}

// choose returns the model that -model names. An empty name means any available model. Finding one
// may take a moment, and only the first request to the model waits for it.
func (c chooser) choose(ctx context.Context, name string) (model.Model, error) {
	why := cmp.Or(c.says, "-model") + " says so"
	if name == "" {
		if name, why = c.keyed(); name == "" {
			return c.search(ctx), nil
		}
	}
	found, err := c.named(ctx, name)
	if err != nil {
		return nil, err
	}
	found.why = why
	c.tell(found)
	return found.Model, nil
}

// keyed returns the model of the first provider for which there is a key, or a server of one's own,
// and says why.
func (c chooser) keyed() (name, why string) {
	if c.env("OPENAI_API_KEY") == "" && c.env("OPENAI_BASE_URL") != "" && c.env("OPENAI_MODEL") != "" {
		return "openai:" + c.env("OPENAI_MODEL"), "OPENAI_BASE_URL and OPENAI_MODEL are set"
	}
	for provider, key := range keyVariables() {
		if c.env(key) == "" {
			continue
		}
		name = defaultModels[provider]
		if own := c.env("OPENAI_MODEL"); provider == "openai" && own != "" {
			name = own
		}
		return provider + ":" + name, key + " is set"
	}
	return "", ""
}

// named returns the model that -model names, or describes the problem with the name.
func (c chooser) named(ctx context.Context, name string) (choice, error) {
	if name == "offline" && c.demo != nil {
		return c.offline(), nil
	}
	if c.demo != nil && !strings.Contains(name, ":") && didYouMean(name, "offline") != "" {
		return choice{}, fmt.Errorf("-model %s: unknown%s", name, didYouMean(name, "offline"))
	}
	found, err := c.open(ctx, name)
	if err != nil {
		return choice{}, fmt.Errorf("-%w", err) // which begins with "model: "
	}
	return found, nil
}

// open returns the model that a string names.
func (c chooser) open(ctx context.Context, name string) (choice, error) {
	if _, variable := keyOf(name); variable != "" && c.stored != nil {
		m, err := newKeyed(ctx, c.program, name, c.env, c.stored)
		return choice{Model: m, name: name}, err
	}
	m, err := model.OpenWith(ctx, name, model.OpenOptions{Getenv: c.env})
	return choice{Model: m, name: name}, err
}

func (c chooser) offline() choice {
	return choice{Model: c.demo(c.pace), name: "offline (a demo model: a few rules and no intelligence)"}
}

// none returns the last resort: the offline model, or a model that fails with advice.
func (c chooser) none(why string) choice {
	found := choice{}
	if c.demo != nil {
		found = c.offline()
	} else {
		found = choice{Model: missing{c.program}, name: "none"}
	}
	found.why = why
	return found
}

// missing is a model that fails with advice.
type missing struct{ program string }

// Info implements [model.Model].
func (m missing) Info() model.Info { return model.Info{Provider: m.program, Name: "none"} }

// Generate implements [model.Model].
func (m missing) Generate(context.Context, *model.Request, model.Sink) (*model.Message, error) {
	return nil, fmt.Errorf("%w: there is no model: run \"%s login\", set the key of a provider such as OPENAI_API_KEY, start Ollama, or use -model",
		model.ErrAuth, m.program)
}

// search looks for a local Ollama, in the background, at most until the program ends.
func (c chooser) search(ctx context.Context) model.Model {
	s := &searched{program: c.program, found: make(chan struct{})}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		defer close(s.found)
		chosen := c.localOrOffline(ctx)
		if s.model = chosen.Model; ctx.Err() == nil { // the program goes on
			c.tell(chosen)
		}
	}()
	if c.atEnd != nil {
		c.atEnd(func() error { stop(); <-s.found; return nil })
	}
	return s
}

// lister is a model that can list other models, such as the models of openaimodel.
type lister interface {
	Models(ctx context.Context) ([]string, error)
}

// localOrOffline also looks for keys that are stored, which may take a moment too.
func (c chooser) localOrOffline(ctx context.Context) choice {
	if c.stored != nil {
		for provider, variable := range keyVariables() {
			if _, err := c.stored.Get(ctx, variable); err != nil {
				continue
			}
			if found, err := c.open(ctx, provider+":"+defaultModels[provider]); err == nil {
				found.why = "a key for " + provider + " is stored"
				return found
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.patience, 300*time.Millisecond))
	defer cancel()
	why := "no Ollama answers"
	probe, err := c.open(ctx, "ollama:probe")
	if err != nil {
		why = err.Error()
	} else if there, ok := probe.Model.(lister); !ok {
		why = "the models of Ollama cannot be listed"
	} else if names, err := there.Models(ctx); err == nil {
		why = "the Ollama here has no model"
		for _, name := range names {
			if strings.Contains(name, "embed") {
				continue
			}
			if found, err := c.open(ctx, "ollama:"+name); err == nil {
				found.why = "no API key is set, and an Ollama answers"
				return found
			}
		}
	}
	return c.none("no API key is set, and " + why)
}

// searched is a model that is still being looked for.
type searched struct {
	program string
	found   chan struct{}
	model   model.Model // valid once found is closed
}

// Info implements [model.Model]. It must not wait, so it promises nothing that not every model can
// do.
func (s *searched) Info() model.Info { return model.Info{Provider: s.program, Name: "default"} }

// Generate implements [model.Model].
func (s *searched) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	select {
	case <-s.found:
		return s.model.Generate(ctx, req, sink)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", s.program, context.Cause(ctx))
	}
}
