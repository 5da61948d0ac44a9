// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/errs"
)

// mediaOut collects the images and the audio of one response.
type mediaOut struct {
	images []model.Part
	audio  []byte
	// audioID is the provider's id of the audio, which it keeps for a short time.
	audioID string
}

// wireImage is an image in a response, from "images" as OpenRouter and LiteLLM send it, or from an
// element of content.
type wireImage struct {
	URL imageURL `json:"image_url"`
}

// imageURL is a URL, given as a string or as an object with a URL.
type imageURL string

func (u *imageURL) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		var object struct {
			URL text `json:"url"`
		}
		err := json.Unmarshal(data, &object)
		*u = imageURL(object.URL)
		return err
	}
	var t text
	err := t.UnmarshalJSON(data)
	*u = imageURL(t)
	return err
}

// wireAudio is the audio of a response, or a piece of it.
type wireAudio struct {
	ID         text `json:"id"`
	Data       text `json:"data"`
	Transcript text `json:"transcript"`
}

// maxImages limits the number of images in one response.
const maxImages = 1024

var errTooManyImages = exceeds("the response has more than %d images", maxImages)

// addImage adds an image, only once if the endpoint repeats it. What is neither a URL nor data is
// ignored.
func (m *mediaOut) addImage(url imageURL) error {
	p := model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: string(url)}
	if rest, ok := strings.CutPrefix(string(url), "data:"); ok {
		header, content, _ := strings.Cut(rest, ",")
		mediaType, encoded := strings.CutSuffix(header, ";base64")
		data, err := decodeBase64(content)
		if !encoded || err != nil || len(data) == 0 {
			return nil
		}
		p.URL, p.Data = "", data
		p.MediaType = cmp.Or(mediaType, p.MediaType)
	} else if !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://") {
		return nil
	}
	for i := range m.images {
		if m.images[i].URL == p.URL && bytes.Equal(m.images[i].Data, p.Data) {
			return nil
		}
	}
	if len(m.images) == maxImages {
		return errTooManyImages
	}
	m.images = append(m.images, p)
	return nil
}

// addAudio adds a piece of the audio. Pieces are encoded separately.
func (m *mediaOut) addAudio(w *wireAudio) error {
	m.audioID = cmp.Or(m.audioID, string(w.ID))
	data, err := decodeBase64(string(w.Data))
	if err != nil {
		return errs.Errorf("cannot decode the audio of the response: %w", err)
	}
	m.audio = append(m.audio, data...)
	return nil
}

func (m *mediaOut) appendParts(parts []model.Part, provider string) []model.Part {
	for i := range m.images {
		m.images[i].Provider = provider
	}
	parts = append(parts, m.images...)
	if len(m.audio) > 0 {
		p := model.Media(audioType(m.audio), m.audio)
		p.Provider, p.ID = provider, m.audioID
		parts = append(parts, p)
	}
	return parts
}

// audioType determines the type of audio, which responses do not state, from its first bytes. Data
// without a header is assumed to be raw samples, as OpenAI streams them (pcm16).
func audioType(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("RIFF")):
		return "audio/wav"
	case bytes.HasPrefix(data, []byte("ID3")), len(data) > 1 && data[0] == 0xff && data[1]&0xe6 == 0xe2:
		return "audio/mpeg"
	case len(data) > 1 && data[0] == 0xff && data[1]&0xf6 == 0xf0:
		return "audio/aac"
	case bytes.HasPrefix(data, []byte("fLaC")):
		return "audio/flac"
	case bytes.HasPrefix(data, []byte("OggS")):
		return "audio/ogg"
	}
	return "audio/pcm"
}

// decodeBase64 accepts data with and without padding.
func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}
