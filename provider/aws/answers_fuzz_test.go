package aws_test

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// A garbler passes calls to the emulator without a network, and corrupts the responses. Each response is corrupted as
// one byte of the fuzz input determines. After the last byte, the first one is used again.
type garbler struct {
	emulator http.Handler

	mu   sync.Mutex // guards data and at
	data []byte
	at   int
}

func (g *garbler) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	inner := r.Clone(r.Context())
	inner.RequestURI = r.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	g.emulator.ServeHTTP(w, inner)
	answer := w.Result()
	body := w.Body.Bytes()
	if how, ok := g.next(); ok {
		body = garble(answer, body, how)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Del("Content-Length")
	return answer, nil
}

func (g *garbler) next() (byte, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.data) == 0 {
		return 0, false
	}
	g.at++
	return g.data[(g.at-1)%len(g.data)], true
}

func (g *garbler) set(data []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.data, g.at = data, 0
}

var (
	items   = regexp.MustCompile(`(?s)<item>.*?</item>`)
	numbers = regexp.MustCompile(`[0-9]+`)
	fields  = regexp.MustCompile(`<([a-zA-Z]+)>[^<]*</[a-zA-Z]+>|"[a-zA-Z]+":"[^"]*",`)
)

// garble returns the response corrupted in one of ten ways, or unchanged.
func garble(a *http.Response, body []byte, how byte) []byte {
	part := int(how / 16) // in sixteenths of the body, or the index of the changed matches
	switch how % 16 {
	case 0:
		return body[:len(body)*part/16]
	case 1, 2:
		a.Header.Set("Content-Type", "text/html")
		if how%16 == 2 {
			a.StatusCode = http.StatusBadGateway
		}
		return []byte("<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>502</h1></body></html>")
	case 3:
		return nil
	case 4: // items in reverse order
		list := items.FindAll(body, -1)
		slices.Reverse(list)
		n := -1
		return items.ReplaceAllFunc(body, func([]byte) []byte { n++; return list[n] })
	case 5: // twice
		return items.ReplaceAll(body, []byte("$0$0"))
	case 6: // numbers of the wrong type
		return every(numbers, body, part, func([]byte) []byte { return []byte("many") })
	case 7: // numbers that are too large
		return every(numbers, body, part, func([]byte) []byte { return []byte("99999999999999999999") })
	case 8: // negative numbers
		return every(numbers, body, part, func(n []byte) []byte { return append([]byte("-"), n...) })
	case 9: // missing fields
		return every(fields, body, part, func([]byte) []byte { return nil })
	default:
		return body
	}
}

// every changes each match whose index is part modulo 16.
func every(re *regexp.Regexp, body []byte, part int, change func([]byte) []byte) []byte {
	n := -1
	return re.ReplaceAllFunc(body, func(m []byte) []byte {
		if n++; n%16 != part {
			return m
		}
		return change(m)
	})
}

// FuzzAnswers reads answers of AWS that are cut off, in another order, of wrong types, or pages of a proxy. Then the
// tasks and controllers of the provider return errors or succeed. They launch or terminate no instance because of such
// a response. With correct responses, they succeed again.
func FuzzAnswers(f *testing.F) {
	for how := range 10 {
		f.Add([]byte{byte(how), 15, 15})
		f.Add([]byte{15, byte(how) + 5*16, 15, byte(how) + 11*16})
	}
	w := worldOf(f, awsemu.Config{Sells: []string{"m5.large", "m5.xlarge", "m6g.large"}})
	g := &garbler{emulator: w.emulator}
	p := w.startWith(f, func(c *aws.Config) {
		c.AWS.HTTPClient = g
		c.AWS.Retryer = func() awssdk.Retryer { return awssdk.NopRetryer{} }
	})
	w.store(f, w.claim("one"))
	instance := create(f, p, w.load(f, "one"))
	w.launched(f, "one", instance)
	f.Fuzz(func(t *testing.T, data []byte) {
		g.set(data)
		for _, c := range controllersOf(t, p, w.kube, w.clock) {
			if strings.Contains(c.Name(), "zonalshift") {
				continue
			}
			for _, name := range []string{"", "default", "one"} {
				_, _ = c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
			}
		}
		_, _ = p.InstanceTypes(t.Context(), pool())
		_, _ = p.List(t.Context())
		_, _ = p.Get(t.Context(), instance.ProviderID)
		g.set(nil)
		if n := len(w.alive(t)); n != 1 {
			t.Fatalf("%d instances run, want 1", n)
		}
		for _, name := range []string{"providers.instancetype", "providers.pricing", "nodeclass"} {
			w.reconcile(t, name, cmp.Or(map[string]string{"nodeclass": "default"}[name], ""))
		}
		list, err := p.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Errorf("with right answers the list has %d instances, %v", len(list), err)
		}
		if all, err := p.InstanceTypes(t.Context(), pool()); err != nil || len(all) == 0 {
			t.Errorf("with right answers there are %d types, %v", len(all), err)
		}
	})
}
