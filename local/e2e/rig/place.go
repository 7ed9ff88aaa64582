package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/watching"
)

// A Place is a running cluster and the ways to use it. Its waits end the test when the rig's patience does, and may be used in
// clean-up too.
type Place struct {
	client.WithWatch
	Cluster *cluster.Cluster
	rig     Rig
}

// Place returns the ways to use c, which runs. more are kinds that its client knows beside those of Client.
func (r Rig) Place(c *cluster.Cluster, more ...func(*runtime.Scheme) error) (*Place, error) {
	kube, err := Client(c, more...)
	if err != nil {
		return nil, err
	}
	return &Place{WithWatch: kube, Cluster: c, rig: r}, nil
}

// Client returns a client of c that knows the kinds of Kubernetes and Karpenter, and those that more adds to its
// scheme.
func Client(c *cluster.Cluster, more ...func(*runtime.Scheme) error) (client.WithWatch, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range append(more, clientgoscheme.AddToScheme, api.AddToScheme) {
		err = errors.Join(err, add(scheme))
	}
	if err != nil {
		return nil, fmt.Errorf("know kinds: %w", err)
	}
	kube, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return kube, nil
}

// Await returns when done returns "". It reads list once, and again whenever an object of its kind changes. done checks list and
// returns what is missing, which is also the message of a failure.
func (p *Place) Await(t *testing.T, list client.ObjectList, done func() string, opts ...client.ListOption) {
	t.Helper()
	ctx, cancel := p.patience(t)
	defer cancel()
	missing := "nothing seen"
	err := watching.Until(ctx, p, list, func() bool {
		missing = done()
		return missing == ""
	}, opts...)
	if err != nil {
		t.Fatalf("%s (%v)\n%s", missing, err, p.LastWords())
	}
}

// Poll is Await for several kinds at once, or for state that has no watch.
func (p *Place) Poll(t *testing.T, done func(context.Context) string) {
	t.Helper()
	ctx, cancel := p.patience(t)
	defer cancel()
	missing := "nothing seen"
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		missing = done(ctx)
		return missing == "", nil
	})
	if err != nil {
		t.Fatalf("%s (%v)\n%s", missing, err, p.LastWords())
	}
}

func (p *Place) patience(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.Context()), p.rig.Patience)
}

// Log is what the controller of ours has logged; empty if there never was one.
func (p *Place) Log() string {
	text, err := os.ReadFile(p.Cluster.Dir().Log(cluster.ControllerName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// LastWords is the end of Log.
func (p *Place) LastWords() string {
	lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
	return "the controller's last words:\n" + strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// Program runs a program of ours against the cluster and returns what it printed. It may wait for several things in turn, and
// has twice the patience.
func (p *Place) Program(t *testing.T, stdin, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*p.rig.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.rig.Binaries, name), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Cluster.Dir().Kubeconfig())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Local runs karpenter-local on the cluster.
func (p *Place) Local(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return p.Program(t, stdin, "karpenter-local", append([]string{"--dir", string(p.Cluster.Dir())}, args...)...)
}

// AWS is how the real SDK reaches the emulated account.
func (p *Place) AWS() aws.Config {
	return aws.Config{
		Region: cluster.Region, BaseEndpoint: aws.String(p.Cluster.Emulator()),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// Steer is the other end of karpenter-local aws.
func (p *Place) Steer() control.Client { return control.Client{BaseURL: p.Cluster.Emulator()} }
