package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/examples/ideagent/internal/offline"
)

// environment returns the value of a variable, as os.Getenv does.
type environment func(name string) string

// defaultOpenAIModel is asked if there is a key, and OPENAI_MODEL does not say which model.
const defaultOpenAIModel = "gpt-5-mini"

// choice is a model, and why it was chosen.
type choice struct {
	model.Model
	// name is what -model would be to choose it.
	name, why string
}

// chooser chooses a model as the user wants, or by what there is.
type chooser struct {
	env  environment
	pace time.Duration // of the offline model
	// tell is called once with the choice.
	tell func(choice)
}

// choose returns the model that -model names. An empty name means whatever there is; to find that out may take a moment,
// which the first request to the model waits for, and nobody else.
func (c chooser) choose(ctx context.Context, name string) (model.Model, error) {
	if name == "" && (c.env("OPENAI_API_KEY") != "" || c.env("OPENAI_BASE_URL") != "" && c.env("OPENAI_MODEL") != "") {
		found, err := c.openAI(c.env("OPENAI_MODEL"))
		if err != nil {
			return nil, err
		}
		found.why = "OPENAI_API_KEY is set"
		if c.env("OPENAI_API_KEY") == "" {
			found.why = "OPENAI_BASE_URL and OPENAI_MODEL are set"
		}
		c.tell(found)
		return found.Model, nil
	}
	if name == "" {
		return c.search(ctx), nil
	}
	found, err := c.named(name)
	if err != nil {
		return nil, err
	}
	found.why = "-model says so"
	c.tell(found)
	return found.Model, nil
}

// named returns the model that -model names, or says what is wrong with the name.
func (c chooser) named(name string) (choice, error) {
	provider, rest, _ := strings.Cut(name, ":")
	switch {
	case name == "offline":
		return c.offline(), nil
	case provider == "openai" && rest != "":
		if c.env("OPENAI_API_KEY") == "" && c.env("OPENAI_BASE_URL") == "" {
			return choice{}, errors.New("-model " + name + ": OPENAI_API_KEY is not set (nor OPENAI_BASE_URL, for a server that needs no key)")
		}
		return c.openAI(rest)
	case provider == "ollama" && rest != "":
		return c.ollama(rest)
	case provider == "openai" || provider == "ollama":
		return choice{}, fmt.Errorf("-model %s: which one? Say -model %s:NAME", name, provider)
	}
	known := []string{"openai", "ollama", "offline"}
	hint := didYouMean(provider, known)
	switch {
	case hint != "" && rest != "":
		hint = strings.TrimSuffix(hint, "?") + ":" + rest + "?"
	case strings.HasPrefix(name, "gpt"):
		hint = "; did you mean openai:" + name + "?"
	}
	return choice{}, fmt.Errorf("-model %s: unknown%s Models are openai:NAME, ollama:NAME and offline", name, orStop(hint))
}

func orStop(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

func (c chooser) offline() choice {
	return choice{Model: offline.New(offline.Config{Delay: c.pace}), name: "offline (a demo model: a few rules and no intelligence)"}
}

func (c chooser) openAI(name string) (choice, error) {
	if name == "" {
		name = defaultOpenAIModel
	}
	m, err := openaimodel.New(openaimodel.Config{Name: name, BaseURL: c.env("OPENAI_BASE_URL"), APIKey: c.env("OPENAI_API_KEY")})
	if err != nil {
		return choice{}, err
	}
	return choice{Model: m, name: "openai:" + name}, nil
}

func (c chooser) ollama(name string) (choice, error) {
	m, err := c.ollamaModel(name)
	if err != nil {
		return choice{}, err
	}
	return choice{Model: m, name: "ollama:" + name}, nil
}

func (c chooser) ollamaModel(name string) (*openaimodel.Model, error) {
	base, err := ollamaURL(c.env("OLLAMA_HOST"))
	if err != nil {
		return nil, err
	}
	return openaimodel.New(openaimodel.Config{Name: name, BaseURL: base, Provider: "ollama"})
}

// ollamaURL returns the address of the server from OLLAMA_HOST, which may lack the scheme, the port, or both. The address
// at which a server listens on all interfaces is no address to connect to.
func ollamaURL(host string) (string, error) {
	if host == "" {
		host = "127.0.0.1"
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("OLLAMA_HOST %q is no address", host)
	}
	name, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	if port == "" {
		port = "11434"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return u.Scheme + "://" + net.JoinHostPort(name, port), nil
}

// ollamaPatience is how long a local server may take to answer.
const ollamaPatience = 300 * time.Millisecond

// search looks for a local Ollama, in the background.
func (c chooser) search(ctx context.Context) model.Model {
	s := &searched{found: make(chan struct{})}
	go func() {
		defer close(s.found)
		chosen := c.localOrOffline(ctx)
		s.model = chosen.Model
		c.tell(chosen)
	}()
	return s
}

func (c chooser) localOrOffline(ctx context.Context) choice {
	ctx, cancel := context.WithTimeout(ctx, ollamaPatience)
	defer cancel()
	why := "no Ollama answers"
	if probe, err := c.ollamaModel("probe"); err != nil {
		why = err.Error()
	} else if names, err := probe.Models(ctx); err == nil {
		why = "the Ollama here has no model"
		for _, name := range names {
			if strings.Contains(name, "embed") {
				continue
			}
			if found, err := c.ollama(name); err == nil {
				found.why = "OPENAI_API_KEY is not set, and an Ollama answers"
				return found
			}
		}
	}
	found := c.offline()
	found.why = "OPENAI_API_KEY is not set, and " + why
	return found
}

// searched is a model that is still being looked for.
type searched struct {
	found chan struct{}
	model model.Model // valid once found is closed
}

// Info implements [model.Model]. It must not wait, so it promises nothing that not every model can do.
func (s *searched) Info() model.Info { return model.Info{Provider: "ideagent", Name: "default"} }

// Generate implements [model.Model].
func (s *searched) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	select {
	case <-s.found:
		return s.model.Generate(ctx, req, sink)
	case <-ctx.Done():
		return nil, fmt.Errorf("ideagent: %w", context.Cause(ctx))
	}
}
