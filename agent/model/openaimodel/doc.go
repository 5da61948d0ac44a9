// Package openaimodel is a [model.Model] behind any endpoint that speaks OpenAI's Chat Completions protocol, over
// net/http alone: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Mistral, xAI, Ollama, vLLM, llama.cpp, LM Studio, and what else
// is compatible.
//
//	m, err := openaimodel.New(openaimodel.Config{Name: "qwen3:8b", BaseURL: "http://localhost:11434"})
//
// # Dialects
//
// A [Profile] says, as data, what an endpoint takes. [ProfileFor] finds it by provider or address; change it and set
// [Config.Profile] where the endpoint in question differs.
//
//	             found by                    schema  named  thinking goes back  levels of thinking      media
//	                                         output  tool
//	openai       *.openai.com                yes     yes    no                  off, minimal … high     image, audio, PDF
//	azure        *.openai.azure.com, Foundry yes     yes    no                  off, minimal … high     image, audio
//	bedrock      bedrock-runtime.*           yes     yes    no                  low, medium, high       image
//	cerebras     *.cerebras.ai               yes     yes    no                  off, low, medium, high  none
//	deepseek     *.deepseek.com              no      yes    with tool calls     off, low, medium, high  none
//	fireworks    *.fireworks.ai              yes     yes    no                  off, low, medium, high  image
//	groq         *.groq.com                  yes     yes    no                  off, low, medium, high  image
//	huggingface  router.huggingface.co       yes     yes    no                  low, medium, high       image
//	llamacpp     host "llamacpp"             yes     no     no                  off, low, medium, high  image, audio
//	lmstudio     local port 1234             yes     no     no                  none                    image
//	mistral      *.mistral.ai                yes     no     no                  off, high               image
//	nvidia       *.api.nvidia.com            yes     yes    no                  none                    image
//	ollama       port 11434, its cloud       yes     yes    no                  off, low, medium, high  image
//	openrouter   openrouter.ai               yes     yes    reasoning_details   off, minimal … high     image, audio, PDF
//	together     *.together.xyz, .ai         yes     yes    no                  off, low, medium, high  image
//	vllm         host "vllm"                 yes     yes    no                  off, low, medium, high  image, audio
//	xai          *.x.ai                      yes     yes    no                  off, low, medium, high  image
//	(generic)    anything else               yes     yes    no                  off, minimal … high     image, audio, PDF
//
// The names of this table are those of model strings, too: importing the package registers them, so that
// model.Open(ctx, "groq:openai/gpt-oss-20b") finds the address, and the key in GROQ_API_KEY.
//
// What answers look like is not asked of the profile. All shapes of reasoning, errors, usage and streamed tool calls
// are understood from any endpoint: calls whose fragments are interleaved, or lack index or id, or have another id each
// time, whole calls, several calls at one index, arguments that are an object. So is an answer that is streamed though
// it should not be, or the other way round. Older Ollama servers take a tool choice and do not keep it.
//
// # Requests
//
// The body of a request depends on the request alone, byte for byte, and ends with the messages, so that prompt caches
// hit: a longer history begins with the bytes of the shorter one. Adjacent responses become one assistant message. Of
// adjacent requests the tool results are sent first; the user, media and retry parts of each become one user message.
// Arguments of an earlier call that are no JSON object are sent as {"invalid_arguments":"…"}, because servers refuse
// the whole request over them; empty ones as {}. Thinking, opaque parts and signatures go only to the provider that made
// them, if at all.
//
// What cannot be sent (a setting, a kind of media, a choice of tool) is refused with [model.ErrUnsupported] before
// anything is sent.
//
// # Responses
//
// The same content gives the same message, streamed or not: thinking, opaque reasoning details, text, and then the
// calls in the order in which they began. Call ids are unique in a message: missing ones are made up, and the second of
// two equal ones gets a suffix. A refusal is text with [model.FinishContentFilter]. An event of a stream is bounded by
// 16 MiB, a response by 64 MiB.
//
// # Errors
//
// Every failure of the endpoint, or of the way to it, is a [*model.APIError]; what its message quotes of an answer is
// bounded. See [Retry] for what is tried again and [Timeouts] for how long is waited.
//
// # Concurrency
//
// A [Model] is safe for concurrent use. Generate starts no goroutine that outlives it, apart from those with which an
// [http.Transport] keeps connections; answers are read to their end or closed, so that connections are used again.
package openaimodel
