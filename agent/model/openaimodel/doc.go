// SPDX-License-Identifier: Apache-2.0

// Package openaimodel provides models behind any endpoint that speaks OpenAI's Chat Completions
// protocol: OpenAI, Azure, OpenRouter, Groq, DeepSeek, Mistral, xAI, Ollama, vLLM, llama.cpp, LM
// Studio and other compatible servers. It uses only net/http. It also supports OpenAI's Responses
// API.
//
//	m, err := openaimodel.New(openaimodel.Config{Name: "qwen3:8b", BaseURL: "http://localhost:11434"})
//
// # Dialects
//
// A [Profile] describes what an endpoint accepts. [ProfileFor] finds it by provider or address. If
// your endpoint differs, change the profile and set [Config.Profile].
//
//	             found by                    schema  named  thinking is        levels of thinking      media
//	                                         output  tool   sent back
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
//	ollama       port 11434, its cloud       yes     no     no                  off, low, medium, high  image
//	openrouter   openrouter.ai               yes     yes    reasoning_details   off, minimal … high     image, audio, PDF
//	together     *.together.xyz, .ai         yes     yes    no                  off, low, medium, high  image
//	vllm         host "vllm"                 yes     yes    no                  off, low, medium, high  image, audio
//	xai          *.x.ai                      yes     yes    no                  off, low, medium, high  image
//	(generic)    anything else               yes     yes    no                  off, minimal … high     image, audio, PDF
//
// The names in this table also work in model strings, because importing the package registers them:
// model.Open(ctx, "groq:openai/gpt-oss-20b") finds the address, and reads the key from
// GROQ_API_KEY.
//
// Responses are parsed independently of the profile. All forms of reasoning, errors, usage and
// streamed tool calls are understood from every endpoint: calls with interleaved fragments, without
// index or id, or with a new id in each fragment, complete calls, several calls at one index, and
// arguments that are an object. A response may be streamed when it should not be, and the other way
// round. Older Ollama servers accept a tool choice but ignore it.
//
// # Requests
//
// The body of a request depends only on the request, byte for byte. It ends with the messages, so
// prompt caches hit: a longer history starts with the bytes of the shorter one. Adjacent responses
// become one assistant message. For adjacent requests, the tool results are sent first, and the
// user, media and retry parts of each become one user message. Arguments of an earlier call that
// are not a JSON object are sent as {"invalid_arguments":"…"}, because servers would otherwise
// return an error for the whole request. Empty arguments are sent as {}. Thinking, opaque parts and
// signatures are sent only to the provider that made them, if at all.
//
// What cannot be sent (a setting, a kind of media, a tool choice) is an error that wraps
// [model.ErrUnsupported], before anything is sent.
//
// # Responses
//
// The same content gives the same message, streamed or not: thinking, opaque reasoning details,
// text, and then the calls in the order they started. Call ids are unique within a message: missing
// ones are generated, and a duplicate gets a suffix. A refusal is text with [model.FinishRefusal].
// An event of a stream is limited to 16 MiB, a response to 64 MiB.
//
// Images and audio in a response are media parts after the text. They come from "images", as
// OpenRouter sends them, from elements of content, and from OpenAI's "audio", whose transcript is
// the text. In the history they are replaced by a note such as "[image/png]", because no endpoint
// accepts them there.
//
// # The Responses API
//
// [NewResponses] returns a [Responses], which uses POST /responses. Its name in model strings is
// "openai-responses". In this API a response is a list of items, which become parts in the same
// order:
//
//	message                    text; a refusal too, with [model.FinishRefusal]
//	reasoning                  thinking, one part for each summary; the first has the encrypted content as its signature
//	reasoning with its text    thinking for people to read, and an opaque part with the item
//	function_call              a tool call
//	image_generation_call      media
//	anything else              an opaque part with the item, for example calls of tools that run at the provider
//
// All items are sent back in the same order, encrypted content byte for byte. Media is replaced by
// a note. The phase of a message ("commentary", "final_answer") is sent back with it: it is the
// signature of the text. Items other than reasoning are sent back without their ids. Opaque parts
// and signatures are sent only to a Responses model of the same provider. Chat Completions models
// leave them out even for the same provider, and the other way round, so a conversation can change
// between the two. Citations and logprobs are left out.
//
// Tools that the client should run but that are not functions (computer use, shells, custom tools)
// are not supported. Neither are previous_response_id, conversations stored at the provider, and
// background responses.
//
// # Errors
//
// Every failure of the endpoint or the connection is a [*model.APIError]. The length of quoted
// responses is limited. See [model.RetryPolicy] for retries and [model.Timeouts] for timeouts.
//
// # Concurrency
//
// A [Model] and a [Responses] are safe for concurrent use. Generate leaves no goroutine behind,
// except those of an [http.Transport] for its connections. Responses are read to the end or closed,
// so connections are reused.
package openaimodel
