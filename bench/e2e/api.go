package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// An API is a connection to the API server.
type API struct {
	server string
	client *http.Client
}

// API connects to the API server with the cluster's kubeconfig.
func (c *Cluster) API(ctx context.Context) (*API, error) {
	out, err := c.local(ctx, nil, "kubectl", "config", "view", "--raw", "-o", "json")
	if err != nil {
		return nil, err
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			}
		}
	}
	if err := json.Unmarshal(out, &config); err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, errors.New("kubeconfig: want one cluster and one user")
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Clusters[0].Cluster.CA)
	pair, err := tls.X509KeyPair(config.Users[0].User.Certificate, config.Users[0].User.Key)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, ForceAttemptHTTP2: true,
	}
	return &API{server: config.Clusters[0].Cluster.Server, client: &http.Client{Transport: transport}}, nil
}

// each sends one request for each object, eight at the same time, and returns the errors. After an error, objects may be
// left without a request.
func (a *API) each(ctx context.Context, method, contentType string, objects []sent) error {
	const sideBySide = 8
	queue := make(chan sent, len(objects))
	for _, o := range objects {
		queue <- o
	}
	close(queue)
	errs := make([]error, sideBySide)
	var senders sync.WaitGroup
	for i := range sideBySide {
		senders.Go(func() {
			for o := range queue {
				if errs[i] = a.send(ctx, method, contentType, o); errs[i] != nil {
					return
				}
			}
		})
	}
	senders.Wait()
	return errors.Join(errs...)
}

// A sent is an object with the API path for its request.
type sent struct {
	path   string
	object any
}

func (a *API) send(ctx context.Context, method, contentType string, o sent) error {
	body, err := json.Marshal(o.object)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, a.server+o.path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if method == http.MethodDelete && response.StatusCode == http.StatusNotFound {
		return nil // the object does not exist any more
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("%s %s: %s: %s", method, o.path, response.Status, text)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// A change is a watch event of one object.
type change struct {
	Type   string
	Object object
}

// An object has the fields of pods, nodes and claims that the measurements use.
type object struct {
	Metadata struct {
		Name              string
		Labels            map[string]string
		CreationTimestamp time.Time
		DeletionTimestamp *time.Time
	}
	Spec struct {
		NodeName string
	}
	Status struct {
		Phase string
	}
}

// follow watches all objects at path and passes every change to tell, until ctx is done. It begins a new watch whenever one
// ends. Before each watch it calls the function anew. The new watch reports all existing objects again.
func (a *API) follow(ctx context.Context, path string, anew func(), tell func(change)) {
	for ctx.Err() == nil {
		anew()
		if err := a.watch(ctx, path, tell); err != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (a *API) watch(ctx context.Context, path string, tell func(change)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path+"?watch=true", nil)
	if err != nil {
		return err
	}
	response, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("watch %s: %s: %s", path, response.Status, text)
	}
	for decoder := json.NewDecoder(response.Body); ; {
		var c change
		if err := decoder.Decode(&c); err != nil {
			return err
		}
		if c.Type == "ERROR" {
			return fmt.Errorf("watch %s: the server ends it", path)
		}
		tell(c)
	}
}
