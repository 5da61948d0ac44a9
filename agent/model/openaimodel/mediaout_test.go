// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// mediaMessage is a response with these parts, as the helpers below make it.
func mediaMessage(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindResponse, Provider: "openrouter", Model: "m", ResponseID: "c1", Finish: model.FinishStop, Parts: parts}
}

func whole(members string) string {
	return `{"id":"c1","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",` + members + `}}]}`
}

func TestResponseMediaBecomesParts(t *testing.T) {
	image := `{"type":"image_url","image_url":{"url":"data:image/webp;base64,cG5n"},"index":0}`
	webp := model.Media("image/webp", []byte("png"))
	webp.Provider = "openrouter"
	sound := []byte("RIFF....WAVEfmt ")
	wav := model.Media("audio/wav", sound)
	wav.Provider, wav.ID = "openrouter", "audio_1"
	pieces := [2]string{base64.StdEncoding.EncodeToString(sound[:7]), base64.StdEncoding.EncodeToString(sound[7:])}

	for name, p := range map[string]pair{
		"OpenRouter's images": {
			plain: whole(`"content":"Here.","images":[` + image + `,{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]`),
			stream: events(delta(`{"content":"Here."}`), delta(`{"content":"","images":[`+image+`]}`),
				delta(`{"images":[`+image+`,{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}`), finish("stop")),
			want: mediaMessage(model.Text("Here."), webp, model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://x.test/a.png", Provider: "openrouter"}),
		},
		"an image and nothing else": {
			plain:  whole(`"content":null,"images":[` + image + `]`),
			stream: events(delta(`{"images":[`+image+`]}`), finish("stop")),
			want:   mediaMessage(webp),
		},
		"content in parts": {
			plain:  whole(`"content":[{"type":"text","text":"See "},{"type":"reference","reference_ids":[1]},{"type":"text","text":"this:"},{"type":"image_url","image_url":"data:image/webp;base64,cG5n"}]`),
			stream: events(delta(`{"content":[{"type":"text","text":"See "}]}`), delta(`{"content":"this:"}`), delta(`{"content":[{"type":"image_url","image_url":"data:image/webp;base64,cG5n"}]}`), finish("stop")),
			want:   mediaMessage(model.Text("See this:"), webp),
		},
		"Mistral's thinking": {
			plain:  whole(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}],"closed":true},{"type":"text","text":"42"}]`),
			stream: events(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}`), delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"."}]}]}`), delta(`{"content":"42"}`), finish("stop")),
			want:   mediaMessage(model.Part{Kind: model.PartThinking, Text: "Hm.", Provider: "openrouter"}, model.Text("42")),
		},
		"OpenAI's sound": {
			plain: whole(`"content":null,"audio":{"id":"audio_1","data":"` + base64.StdEncoding.EncodeToString(sound) + `","expires_at":1,"transcript":"Rain, as ever."}`),
			stream: events(delta(`{"audio":{"id":"audio_1"}}`), delta(`{"audio":{"transcript":"Rain, "}}`), delta(`{"audio":{"data":"`+pieces[0]+`"}}`),
				delta(`{"audio":{"transcript":"as ever."}}`), delta(`{"audio":{"data":"`+pieces[1]+`"}}`), delta(`{"audio":{"expires_at":1}}`), finish("stop")),
			want: mediaMessage(model.Text("Rain, as ever."), wav),
		},
		"images that are none": {
			plain:  whole(`"content":"Oh.","images":[{},{"image_url":"file:///etc"},{"image_url":{"url":"data:image/png;base64,!"}},{"image_url":{"url":"data:image/png,x"}}]`),
			stream: events(delta(`{"content":"Oh.","images":[{"image_url":7}]}`), finish("stop")),
			want:   mediaMessage(model.Text("Oh.")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := newModel(t, serve(t, answer{Body: p.plain}).URL, "openrouter").Generate(context.Background(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, p.want, got)
			got, err = stream(t, newModel(t, serve(t, answer{Body: p.stream}).URL, "openrouter"), hello())
			require.NoError(t, err)
			require.Equal(t, p.want, got)

			back, note := messages(t, "openrouter", got), messages(t, "openai", got)
			require.NotContains(t, note, "cG5n")
			for _, part := range got.Parts {
				switch {
				case part.Kind != model.PartMedia:
				case part.MediaType == "audio/wav":
					require.Contains(t, back, "[audio/wav]")
				case part.URL != "":
					require.Contains(t, back, `{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]`)
				default:
					require.Contains(t, back, `"images":[{"type":"image_url","image_url":{"url":"data:image/webp;base64,cG5n"}}`)
				}
				if part.Kind == model.PartMedia {
					require.Contains(t, note, "["+part.MediaType+"]", "what another provider made is a note")
				}
			}
		})
	}
}

func TestAudioTypeIsDetected(t *testing.T) {
	for begins, want := range map[string]string{
		"RIFF": "audio/wav", "ID3\x04": "audio/mpeg", "\xff\xfb\x90": "audio/mpeg", "\xff\xf1P": "audio/aac", "fLaC": "audio/flac",
		"OggS": "audio/ogg", "\x00\x01": "audio/pcm",
		"\xff": "audio/pcm", "\xfe\xfb": "audio/pcm", "\xfb\xff": "audio/pcm", "\xff\xfb": "audio/mpeg", "\xff\xf1": "audio/aac", "RIF": "audio/pcm", "ID": "audio/pcm",
	} {
		m := newModel(t, serve(t, answer{Body: whole(`"audio":{"data":"` + base64.StdEncoding.EncodeToString([]byte(begins)) + `"}`)}).URL, "openai")
		msg, err := m.Generate(context.Background(), hello(), nil)
		require.NoError(t, err)
		require.Equal(t, want, msg.Parts[0].MediaType, "%q", begins)
	}
	// A frame begins with eleven bits that are set. Those that follow tell the version and the layer, which AAC does not have.
	for second := range 256 {
		want := "audio/pcm"
		switch sync, version, layer := second>>5, second>>3&3, second>>1&3; {
		case sync == 7 && layer == 1:
			want = "audio/mpeg"
		case sync == 7 && version >= 2 && layer == 0:
			want = "audio/aac"
		}
		require.Equal(t, want, openaimodel.AudioType([]byte{0xff, byte(second)}), "%08b", second)
	}
	_, err := newModel(t, serve(t, answer{Body: whole(`"audio":{"data":"!"}`)}).URL, "openai").Generate(context.Background(), hello(), nil)
	require.ErrorContains(t, apiError(t, err), "cannot decode the audio of the response")
}
