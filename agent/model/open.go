package model

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/internal/nearest"
)

// ErrUnknownProvider means that a model string names no provider that is registered in this program.
var ErrUnknownProvider = errors.New("unknown provider")

// OpenOptions say what a model string does not. The zero value takes all from the environment. Printing or logging them
// does not show the key.
type OpenOptions struct {
	// APIKey is the key to use in place of the environment's.
	APIKey string
	// BaseURL is the endpoint to use in place of the provider's, or of the environment's.
	BaseURL string
	// HTTPClient sends the requests; nil means the adapter's own. Its Timeout would also cut off streams.
	HTTPClient *http.Client
	// Settings are defaults that the settings of a request override one by one. May be nil.
	Settings *Settings
	// Getenv looks up environment variables; nil means [os.Getenv].
	Getenv func(name string) string
}

// Driver opens the models of one provider. Packages of providers register theirs when they are imported.
type Driver struct {
	// Open returns the model that the provider calls name, which is not empty. It makes no request to the provider. A
	// missing key is an error that wraps [ErrAuth] and names the variable to set. Getenv of the options is set.
	Open func(ctx context.Context, name string, o OpenOptions) (Model, error)
	// Env lists the environment variables that Open reads, the one of the key first.
	Env []string
}

var (
	driversMu sync.RWMutex
	drivers   = map[string][]Driver{}
)

// Register makes a provider known to [Open] under a name in lower case. It is meant for init functions. A name that is
// registered twice, or with a driver that cannot open, makes every Open of it fail, since there is nobody whom Register
// could tell.
func Register(provider string, d Driver) {
	driversMu.Lock()
	defer driversMu.Unlock()
	drivers[provider] = append(drivers[provider], d)
}

// Providers lists the registered providers, sorted, with their drivers.
func Providers() ([]string, map[string]Driver) {
	driversMu.RLock()
	defer driversMu.RUnlock()
	known := make(map[string]Driver, len(drivers))
	for name, d := range drivers {
		known[name] = d[0]
	}
	return slices.Sorted(maps.Keys(known)), known
}

// Open returns the model that a string names: "provider:name", such as "openai:gpt-5-mini" or "ollama:qwen3:8b". What comes
// after the first colon is the provider's own name of the model, taken as it is. The package of the provider must have been
// imported, if only for its side effect:
//
//	import _ "github.com/ponte-go/ponte/agent/model/openaimodel"
//
// Keys and endpoints come from the environment, or from options of [OpenWith]. Open makes no request: whether the name and
// the key are good is known at the first one. A string that cannot be understood, or a provider that is not registered
// ([ErrUnknownProvider]), is an error that says what was probably meant.
func Open(ctx context.Context, ref string) (Model, error) {
	return OpenWith(ctx, ref, OpenOptions{})
}

// OpenWith is [Open] with options.
func OpenWith(ctx context.Context, ref string, o OpenOptions) (Model, error) {
	provider, name, colon := strings.Cut(strings.TrimSpace(ref), ":")
	if !colon {
		return nil, fmt.Errorf("model: %q names no provider: write provider:name%s", ref, guess(provider))
	}
	driversMu.RLock()
	found := drivers[provider]
	driversMu.RUnlock()
	switch {
	case len(found) == 0:
		return nil, unknownProvider(ref, provider, name)
	case len(found) > 1:
		return nil, fmt.Errorf("model: %d packages of this program have registered the provider %q: import one of them", len(found), provider)
	case found[0].Open == nil:
		return nil, fmt.Errorf("model: the provider %q was registered with a driver that cannot open", provider)
	case name == "":
		return nil, fmt.Errorf("model: %q names a provider but no model: write %s:name", ref, provider)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	m, err := found[0].Open(ctx, name, o)
	if err != nil {
		return nil, fmt.Errorf("model: opening %q: %w", ref, err)
	}
	return m, nil
}

// homes are the packages that bring Ponte's own providers.
var homes = map[string]string{
	"openai": "openaimodel", "openai-responses": "openaimodel", "azure": "openaimodel", "bedrock": "openaimodel", "deepseek": "openaimodel",
	"fireworks": "openaimodel", "groq": "openaimodel", "lmstudio": "openaimodel", "llamacpp": "openaimodel", "mistral": "openaimodel",
	"ollama": "openaimodel", "openrouter": "openaimodel", "together": "openaimodel", "vllm": "openaimodel", "xai": "openaimodel",
	"anthropic": "anthropicmodel", "google": "geminimodel", "vertex": "geminimodel",
}

func unknownProvider(ref, provider, name string) error {
	if home := homes[provider]; home != "" {
		return fmt.Errorf("model: %q: %w: this program does not import _ \"github.com/ponte-go/ponte/agent/model/%s\"",
			ref, ErrUnknownProvider, home)
	}
	registered, _ := Providers()
	meant := nearest.Of(provider, slices.Values(slices.Concat(registered, slices.Sorted(maps.Keys(homes)))))
	hint := guess(provider)
	if meant != "" {
		hint = fmt.Sprintf("; did you mean %s:%s?", meant, name)
	}
	if hint == "" {
		hint = "; registered: " + strings.Join(registered, ", ")
		if len(registered) == 0 {
			hint = "; none is registered: import the package of one"
		}
	}
	return fmt.Errorf("model: %q: %w %q%s", ref, ErrUnknownProvider, provider, hint)
}

// families tell by its beginning whose a model is.
var families = []struct{ prefix, provider string }{
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"},
	{"claude-", "anthropic"}, {"gemini-", "google"}, {"gemma", "google"},
	{"deepseek-", "deepseek"}, {"grok-", "xai"}, {"mistral-", "mistral"}, {"codestral-", "mistral"},
}

// guess suggests a provider for a bare name of a model.
func guess(name string) string {
	for _, f := range families {
		if strings.HasPrefix(strings.ToLower(name), f.prefix) {
			return fmt.Sprintf("; did you mean %s:%s?", f.provider, name)
		}
	}
	return ""
}
