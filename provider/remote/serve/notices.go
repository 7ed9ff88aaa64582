package serve

import (
	"context"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// again is the pause after a failure of a source of notices.
const again = 5 * time.Second

// WatchNotices implements the service. A new stream ends the previous one, because a source must have only one reader.
func (s *Server) WatchNotices(stream grpc.BidiStreamingServer[cloudv1.WatchNoticesRequest, cloudv1.WatchNoticesResponse]) error {
	notifier, ok := s.config.Provider.(cloud.Notifier)
	if !ok || len(notifier.NoticeSources()) == 0 {
		return status.Error(codes.Unimplemented, "the provider has no notices")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	if err := s.takeOver(ctx, cancel, ended); err != nil {
		return err
	}
	w := &watch{stream: stream, waiting: map[string]chan *cloudv1.WatchNoticesRequest{}}
	var all sync.WaitGroup
	for n, source := range notifier.NoticeSources() {
		all.Go(func() {
			defer cancel()
			s.deliver(ctx, w, strconv.Itoa(n), source)
		})
	}
	err := w.acknowledgements(ctx)
	cancel()
	all.Wait()
	return err
}

// takeOver ends the previous stream and waits until it has ended.
func (s *Server) takeOver(ctx context.Context, cancel context.CancelFunc, ended chan struct{}) error {
	s.mu.Lock()
	before, beforeEnded := s.listening, s.listened
	s.listening, s.listened = cancel, ended
	s.mu.Unlock()
	if before == nil {
		return nil
	}
	before()
	select {
	case <-beforeEnded:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// A watch is one stream of notices.
type watch struct {
	stream grpc.BidiStreamingServer[cloudv1.WatchNoticesRequest, cloudv1.WatchNoticesResponse]
	mu     sync.Mutex // guards calls of stream.Send, and waiting
	// waiting has, by batch, a channel for the acknowledgement.
	waiting map[string]chan *cloudv1.WatchNoticesRequest
}

// acknowledgements reads the messages of the client until the stream ends, and passes each to the goroutine that
// waits for the acknowledgement of that batch.
func (w *watch) acknowledgements(ctx context.Context) error {
	for {
		m, err := w.stream.Recv()
		if err != nil {
			return err
		}
		w.mu.Lock()
		to := w.waiting[m.GetAcknowledgedBatch()]
		delete(w.waiting, m.GetAcknowledgedBatch())
		w.mu.Unlock()
		if to == nil {
			continue // the first message of the stream, or a batch that was already acknowledged
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

// send sends a batch, waits for its acknowledgement and returns it.
func (w *watch) send(ctx context.Context, batch string, list []cloud.Notice) (*cloudv1.WatchNoticesRequest, error) {
	m := &cloudv1.WatchNoticesResponse{Batch: batch, Notices: written(list)}
	answer := make(chan *cloudv1.WatchNoticesRequest, 1)
	w.mu.Lock()
	w.waiting[batch] = answer
	err := w.stream.Send(m)
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deliver sends the batches of one source until ctx is done or a batch cannot be sent.
func (s *Server) deliver(ctx context.Context, w *watch, name string, source cloud.NoticeSource) {
	for n := 0; ctx.Err() == nil; n++ {
		batch, err := source.Receive(ctx)
		pause := batch.Next
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.config.Log.Error(err, "failed to receive notices", "notice-source", source.Name())
			pause = again
		default:
			var failed []cloud.Notice
			if len(batch.Notices) > 0 {
				answer, err := w.send(ctx, name+"-"+strconv.Itoa(n), batch.Notices)
				if err != nil {
					return
				}
				for _, at := range answer.GetFailed() {
					if int(at) < len(batch.Notices) {
						failed = append(failed, batch.Notices[at])
					}
				}
			}
			if batch.Acknowledge != nil {
				if err := batch.Acknowledge(ctx, failed); err != nil {
					s.config.Log.Error(err, "failed to acknowledge notices", "notice-source", source.Name())
				}
			}
		}
		timer := s.config.Clock.NewTimer(max(pause, time.Millisecond))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func written(list []cloud.Notice) []*cloudv1.Notice {
	var out []*cloudv1.Notice
	for _, n := range list {
		out = append(out, wire.WriteNotice(n))
	}
	return out
}
