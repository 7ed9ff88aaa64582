package learned

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-go/karpenter/provider/aws/periodic"
)

const (
	// MapName is the ConfigMap's name.
	MapName = "karpenter-discovered-memory"
	mapKey  = "memory.json"
	// saveEvery is how often what is new is written down.
	saveEvery = time.Minute
	// imagesKept is how many images are remembered of one type, those seen last.
	imagesKept = 4
)

// A sight is what was seen of a type with an image.
type sight struct {
	// Bytes is the least memory that a node had.
	Bytes int64 `json:"bytes"`
	// Seen is when a node was last seen.
	Seen time.Time `json:"seen"`
}

// Config names what a Store needs.
type Config struct {
	// Client writes; Reader reads what is stored now. A cache would have to watch all ConfigMaps.
	Client client.Client
	Reader client.Reader
	Clock  clock.PassiveClock
	// Expected returns the memory of a type in bytes, and false if the type is not known.
	Expected func(instanceType string) (int64, bool)
	Metrics  prometheus.Registerer
	// Namespace is the controller's; empty means that nothing is written down.
	Namespace string
}

// A Store holds what was learned. It is safe for concurrent use.
type Store struct {
	Config
	ignored *prometheus.CounterVec

	mu       sync.Mutex                  // guards the rest
	sights   map[string]map[string]sight // by type and image
	loaded   bool
	changed  bool
	told     bool // that nothing may be written
	revision uint64
}

// New returns an empty Store.
func New(c Config) *Store {
	s := &Store{Config: c, sights: map[string]map[string]sight{}, ignored: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "karpenter_cloudprovider_instance_memory_reports_ignored_total",
		Help: "Reports of nodes with less than half of the memory of their instance type, which were ignored.",
	}, []string{"instance_type"})}
	c.Metrics.MustRegister(s.ignored)
	return s
}

// plausible reports whether nodes of the type may have so much memory. The kernel and the hypervisor keep much less than half. A
// report of less comes from a broken kubelet, and would take the type out of planning.
func (s *Store) plausible(instanceType string, bytes int64) bool {
	expected, known := s.Expected(instanceType)
	return bytes > 0 && (!known || bytes >= expected/2)
}

// Memory returns the memory in bytes of nodes of the type with the image, or else the least with any other image, and false
// if none was seen.
func (s *Store) Memory(instanceType, image string) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.sights[instanceType]
	if exact, ok := of[image]; ok {
		return exact.Bytes, true
	}
	least := int64(0)
	for _, v := range of {
		if least == 0 || v.Bytes < least {
			least = v.Bytes
		}
	}
	return least, least > 0
}

// Revision changes whenever an answer of Memory may.
func (s *Store) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Learn notes the memory of a node. The least that was seen counts: nodes of a type differ by a little. It ignores amounts that
// are not plausible.
func (s *Store) Learn(instanceType, image string, bytes int64) {
	if instanceType == "" || image == "" {
		return
	}
	if !s.plausible(instanceType, bytes) {
		s.ignored.WithLabelValues(instanceType).Inc()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(instanceType, image, sight{Bytes: bytes, Seen: s.Clock.Now().UTC().Truncate(time.Second)})
}

// note merges a sight. The caller holds mu.
func (s *Store) note(instanceType, image string, v sight) {
	of := s.sights[instanceType]
	if of == nil {
		of = map[string]sight{}
		s.sights[instanceType] = of
	}
	old, known := of[image]
	if known && v.Bytes >= old.Bytes {
		v.Bytes = old.Bytes
		if v.Seen.Sub(old.Seen) < 24*time.Hour {
			return // not worth a write
		}
	}
	if !known || v.Bytes != old.Bytes {
		s.revision++
	}
	of[image], s.changed = v, true
	if len(of) > imagesKept {
		oldest := ""
		for k := range of {
			if oldest == "" || cmp.Or(of[k].Seen.Compare(of[oldest].Seen), cmp.Compare(k, oldest)) < 0 {
				oldest = k
			}
		}
		delete(of, oldest)
	}
}

// Task reads what was written down and writes what is new.
func (s *Store) Task() periodic.Task {
	return periodic.Task{Label: "providers.instancetype.memory", Run: func(ctx context.Context) (time.Duration, error) {
		return saveEvery, s.Sync(ctx)
	}}
}

// Sync reads the ConfigMap if that was not done yet, and writes it if something is new. A ConfigMap that cannot be
// understood is written anew.
func (s *Store) Sync(ctx context.Context) error {
	s.mu.Lock()
	loaded, changed := s.loaded, s.changed
	s.mu.Unlock()
	if s.Namespace == "" || loaded && !changed {
		return nil
	}
	var stored corev1.ConfigMap
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: MapName}, &stored)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return s.refused(ctx, fmt.Errorf("read what was learned: %w", err))
	}
	s.merge(ctx, stored.Data[mapKey])
	text, ok, err := s.text()
	if err != nil || !ok {
		return err
	}
	if missing {
		err = s.Client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: MapName}, Data: map[string]string{mapKey: text},
		})
	} else {
		if stored.Data == nil {
			stored.Data = map[string]string{}
		}
		stored.Data[mapKey] = text
		err = s.Client.Update(ctx, &stored)
	}
	if err != nil {
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		return s.refused(ctx, fmt.Errorf("write down what was learned: %w", err))
	}
	return nil
}

// refused returns err unless a right is missing: that is logged once, and the observed memory stays in memory only.
func (s *Store) refused(ctx context.Context, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	s.mu.Lock()
	told := s.told
	s.told = true
	s.mu.Unlock()
	if !told {
		log.FromContext(ctx).Info("not authorized to write ConfigMap: discovered instance memory is lost on restart (chart value extraPermissions.configMaps)",
			"ConfigMap", klog.KRef(s.Namespace, MapName))
	}
	return nil
}

// merge adds what is stored to what is known.
func (s *Store) merge(ctx context.Context, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.loaded = true
	var stored map[string]map[string]sight
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil {
		log.FromContext(ctx).Error(err, "ignored unreadable discovered instance memory", "ConfigMap", klog.KRef(s.Namespace, MapName))
		return
	}
	for instanceType, of := range stored {
		for image, v := range of {
			if s.plausible(instanceType, v.Bytes) {
				s.note(instanceType, image, v)
			}
		}
	}
	s.changed = changed // what comes from there need not be written back
}

// text returns what is to be written, and false if nothing is new.
func (s *Store) text() (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changed {
		return "", false, nil
	}
	raw, err := json.Marshal(s.sights)
	if err != nil {
		return "", false, fmt.Errorf("write down what was learned: %w", err)
	}
	s.changed = false
	return string(raw), true, nil
}
