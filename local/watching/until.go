package watching

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Until reads list with opts, and again after each change, until done returns true. If ctx ends first, it returns ctx's
// error, and list has the last state.
func Until(ctx context.Context, c client.WithWatch, list client.ObjectList, done func() bool,
	opts ...client.ListOption,
) error {
	for {
		// Decoding into existing items would keep their fields that are missing in the new ones.
		if err := meta.SetList(list, nil); err != nil {
			return fmt.Errorf("clear %T: %w", list, err)
		}
		if err := c.List(ctx, list, opts...); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
		if done() {
			return nil
		}
		if err := waitForChange(ctx, c, list, opts); err != nil {
			return err
		}
	}
}

// waitForChange returns when an object of list has changed since list was read, or when the watch has ended, so that
// list must be read again.
func waitForChange(ctx context.Context, c client.WithWatch, list client.ObjectList,
	opts []client.ListOption,
) error {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("watch %T: %w", list, err)
	}
	var from client.ListOptions
	from.ApplyOptions(opts)
	from.Raw = from.AsListOptions()
	from.Raw.ResourceVersion = accessor.GetResourceVersion()
	watcher, err := c.Watch(ctx, list, &from)
	if err != nil {
		return fmt.Errorf("watch %T: %w", list, err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event := <-watcher.ResultChan():
			if event.Type != watch.Bookmark {
				return nil
			}
		}
	}
}
