package remote

import (
	"context"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// learn returns the facts about the provider that do not change. They come from the provider or, if it does not answer,
// from the ConfigMap of an earlier start.
func (p *Provider) learn(ctx context.Context) (*wire.Info, error) {
	bounded, cancel := timeout.Context(ctx, p.config.Clock, StartPatience)
	defer cancel()
	var last error
	for {
		m, err := p.ask(bounded)
		if err == nil {
			info, err := wire.ReadInfo(m)
			if err != nil {
				return nil, fmt.Errorf("read facts about the provider at %s: %w", p.config.Address, p.checked(err))
			}
			p.first = m
			p.store(ctx, m)
			return info, nil
		}
		if bounded.Err() == nil {
			last = err
			timer := p.config.Clock.NewTimer(firstWait)
			select {
			case <-timer.C():
				continue
			case <-bounded.Done():
				timer.Stop()
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		info, known := p.stored(ctx)
		if !known {
			if last != nil {
				err = last // the last call ended at the deadline, so its error does not have the cause
			}
			return nil, fmt.Errorf("connect to provider at %s: %w", p.config.Address, err)
		}
		ctrl.LoggerFrom(ctx).Error(err, "provider does not answer, its facts of the last start are used", "provider", info.Name, "address", p.config.Address)
		return info, nil
	}
}

func (p *Provider) ask(ctx context.Context) (*cloudv1.GetInfoResponse, error) {
	return call(ctx, p, "GetInfo", shortCall, p.api.GetInfo, &cloudv1.GetInfoRequest{ProtocolVersions: []string{wire.Version}})
}

// configMap is the name of the ConfigMap with the facts about providers, by address.
const configMap = "karpenter-providers"

// field returns the key of the provider in the ConfigMap: its address, with characters replaced
// that a key must not have. A long address is cut to its last 200 bytes.
func (p *Provider) field() string {
	out := []byte(p.config.Address)
	for n, b := range out {
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && b != '-' && b != '.' {
			out[n] = '_'
		}
	}
	return string(out[max(0, len(out)-200):])
}

// stored returns the facts that an earlier start has stored. They are checked like those of the provider.
func (p *Provider) stored(ctx context.Context) (*wire.Info, bool) {
	if p.config.Namespace == "" {
		return nil, false
	}
	var m corev1.ConfigMap
	if err := p.config.Reader.Get(ctx, client.ObjectKey{Namespace: p.config.Namespace, Name: configMap}, &m); err != nil {
		return nil, false
	}
	var message cloudv1.GetInfoResponse
	text, there := m.Data[p.field()]
	if !there || protojson.Unmarshal([]byte(text), &message) != nil {
		return nil, false
	}
	info, err := wire.ReadInfo(&message)
	p.first = &message
	return info, err == nil
}

// StoredLaunchTimeouts returns the launch timeouts, by kind of node class, of all providers whose facts a controller in the
// namespace has stored.
func StoredLaunchTimeouts(ctx context.Context, c client.Reader, namespace string) (map[schema.GroupKind]time.Duration, error) {
	out := map[schema.GroupKind]time.Duration{}
	var m corev1.ConfigMap
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: configMap}, &m)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read facts about providers: %w", err)
	}
	for _, text := range m.Data {
		var message cloudv1.GetInfoResponse
		if protojson.Unmarshal([]byte(text), &message) != nil {
			continue // the controller ignores it too
		}
		if info, err := wire.ReadInfo(&message); err == nil {
			maps.Copy(out, info.Facts.LaunchTimeouts)
		}
	}
	return out, nil
}

// store writes the facts to the ConfigMap. A failure is only logged. The next start then needs a running provider.
func (p *Provider) store(ctx context.Context, message *cloudv1.GetInfoResponse) {
	if p.config.Namespace == "" {
		return
	}
	text, err := protojson.Marshal(message)
	if err == nil {
		err = p.write(ctx, string(text))
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to store the facts about a provider", "ConfigMap", klog.KRef(p.config.Namespace, configMap))
	}
}

func (p *Provider) write(ctx context.Context, text string) error {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.config.Namespace, Name: configMap}}
	err := p.config.Reader.Get(ctx, client.ObjectKeyFromObject(m), m)
	if apierrors.IsNotFound(err) {
		m.Data = map[string]string{p.field(): text}
		err = p.config.Client.Create(ctx, m)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = p.config.Reader.Get(ctx, client.ObjectKeyFromObject(m), m)
	}
	if err != nil {
		return err
	}
	before := m.DeepCopy()
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[p.field()] = text
	return p.config.Client.Patch(ctx, m, client.MergeFrom(before))
}

// served returns an error if the API server does not serve a kind of node class, because controllers could not watch that
// kind.
func (p *Provider) served(ctx context.Context) error {
	if p.config.Client == nil {
		return nil // no kind is watched
	}
	mapper := p.config.Client.RESTMapper()
	for _, k := range p.info.Facts.NodeClasses {
		if _, err := mapper.RESTMapping(k.GroupKind(), k.Version); err != nil {
			return fmt.Errorf("find kind %s of provider %s, install its CustomResourceDefinition: %w", k.Kind, p.Name(), err)
		}
	}
	return ctx.Err()
}

// changed reports whether the facts about the provider differ from those that are in use.
func (p *Provider) changed(m *cloudv1.GetInfoResponse) bool {
	now, used := proto.Clone(m).(*cloudv1.GetInfoResponse), proto.Clone(p.first).(*cloudv1.GetInfoResponse)
	for _, m := range []*cloudv1.GetInfoResponse{now, used} {
		m.Version, m.MaxConcurrentCalls = "", 0 // these facts may change
	}
	return !proto.Equal(now, used)
}
