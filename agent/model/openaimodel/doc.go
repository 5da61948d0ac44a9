// SPDX-License-Identifier: Apache-2.0

// Package openaimodel is a [model.Model] behind any endpoint that speaks OpenAI's Chat Completions protocol, over
// net/http alone: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Mistral, xAI, Ollama, vLLM, llama.cpp, LM Studio, and what else
// is compatible. It speaks OpenAI's Responses API too.
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
// Images and sound of an answer are media parts, behind the text: "images" as OpenRouter has them, elements of content, and
// OpenAI's "audio", whose transcript is the text. In the history a note such as "[image/png]" stands for them, because no
// endpoint takes them back there.
//
// # The Responses API
//
// [NewResponses] makes a [Responses], which asks POST /responses instead, and "openai-responses" is its name in model
// strings. A response is a list of items there, which become parts in their order:
//
//	message                    text; a refusal too, with [model.FinishContentFilter]
//	reasoning                  thinking, one part for each summary; the first has the encrypted content as its signature
//	reasoning with its text    thinking for people to read, and an opaque part with the item
//	function_call              a tool call
//	image_generation_call      media
//	anything else              an opaque part with the item: what tools did that run at the provider
//
// All of it goes back in the same order, what is encrypted byte for byte; for media stands a note. A phase that a message came
// with ("commentary", "final_answer") goes back with it: it is the signature of the text. Items other than reasoning go back
// without their ids. Opaque parts and signatures go to a Responses model of the same provider only; a model of Chat
// Completions leaves them out though it has the same name of provider, and the other way round, so that a conversation can
// change between the two. Citations, and logprobs, are left out.
//
// Tools that the provider wants the client to run but that are no functions (computer use, shells, custom tools) cannot be
// answered. There is no use of previous_response_id, of conversations kept at the provider, or of responses in the
// background.
//
// # Errors
//
// Every failure of the endpoint, or of the way to it, is a [*model.APIError]; what its message quotes of an answer is
// bounded. See [model.RetryPolicy] for what is tried again and [model.Timeouts] for how long is waited.
//
// # Concurrency
//
// A [Model] and a [Responses] are safe for concurrent use. Generate starts no goroutine that outlives it, apart from those
// with which an [http.Transport] keeps connections; answers are read to their end or closed, so that connections are used
// again.
package openaimodel
