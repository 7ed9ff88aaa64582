package awsemu

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// replays stores the responses of calls with a client token. A call with the same token gets the stored response if the
// parameters are the same, otherwise an error.
type replays struct {
	mu      sync.Mutex // guards answers
	answers map[string]replay
}

// A replay is the stored call of a token.
type replay struct {
	digest [sha256.Size]byte
	body   any
}

// reset removes all tokens.
func (p *replays) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = nil
}

// once executes a call, or returns the stored response of an earlier call with the same token. Calls with a token are executed
// one after another, so concurrent calls with the same token are executed once. Failed calls are not stored, because the client
// may repeat them with corrected parameters and the same token.
func (p *replays) once(r *request, do func() (any, *wire.Error)) (any, *wire.Error) {
	token := r.form.String("ClientToken")
	if token == "" {
		return do()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.action + "/" + token
	digest := digestOf(r)
	if old, ok := p.answers[key]; ok {
		if old.digest != digest {
			return nil, wire.Errorf("IdempotentParameterMismatch",
				"The client token %s was used before with other parameters.", token)
		}
		return old.body, nil
	}
	body, err := do()
	if err != nil {
		return nil, err
	}
	if p.answers == nil {
		p.answers = map[string]replay{}
	}
	p.answers[key] = replay{digest: digest, body: body}
	return body, nil
}

// digestOf returns a hash of all parameters of a request.
func digestOf(r *request) [sha256.Size]byte {
	keys := make([]string, 0, len(r.values))
	for k := range r.values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	h := sha256.New()
	for _, k := range keys {
		fmt.Fprintf(h, "%q=%q\n", k, r.values[k])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
