// SPDX-License-Identifier: Apache-2.0

package local

import "github.com/ponte-go/ponte/internal/guard"

// secretNames are the names of variables whose values are secrets. "*" matches any text.
var secretNames = []string{
	"*_API_KEY", "*_APIKEY", "*_ACCESS_KEY", "*_SECRET_KEY", "*_PRIVATE_KEY", "*_SIGNING_KEY", "*_ENCRYPTION_KEY", "*_KEY_ID",
	"*_TOKEN", "*_SECRET", "*_PASSWORD", "*_PASSWD", "*_PASSPHRASE", "*_CREDENTIALS", "*_API_KEYS", "*_TOKENS", "*_SECRETS",
	"*_PASS", "*_PAT", "*_CREDS", "STRIPE_KEY", "*_KEY_BASE64", "*_SECRET_*", "*_CONNECTION_STRING",
	"*_DSN", "API_KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "DATABASE_URL", "REDIS_URL",
	"MONGODB_URI", "AMQP_URL", "PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH",
	"OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_API_*", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_OPENAI_*", "MISTRAL_*", "GROQ_*",
	"DEEPSEEK_*", "OPENROUTER_*", "TOGETHER_*", "FIREWORKS_*", "CEREBRAS_*", "XAI_*", "NVIDIA_API_*", "COHERE_*", "PERPLEXITY_*",
	"OLLAMA_API_*", "VLLM_API_*", "LLAMA_API_*", "HF_TOKEN*", "HUGGING*_TOKEN*", "AWS_BEARER_*",
}

// Secret reports whether the value of a variable of this name is a secret, by the look of the name:
// it ends like the names of keys, tokens and passwords (_API_KEY, _TOKEN, _SECRET, _PASSWORD and
// the like), or begins like the names of a model's provider (OPENAI_, ANTHROPIC_ and so on). Case
// makes no difference. Use it to leave values out of logs and recordings. What commands get is not
// decided by it: see [Config.PassEnv].
func Secret(name string) bool {
	return guard.Matches(secretNames, name)
}
