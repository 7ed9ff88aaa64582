package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func (a *app) awsReserve() *cobra.Command {
	var (
		r      control.Reservation
		lasts  time.Duration
		cancel bool
		cmd    *cobra.Command
	)
	cmd = a.emulatorCommand(&cobra.Command{
		Use:   "reserve TYPE/ZONE | --cancel ID",
		Short: "Create a capacity reservation and print its ID, or cancel one",
		Example: "  karpenter-local aws reserve m5.large/us-east-1a --count 4 --tag team=web\n" +
			"  karpenter-local aws reserve p5.48xlarge/us-east-1a --block --for 24h\n" +
			"  karpenter-local aws reserve --cancel cr-0123456789abcdef0",
	}, cobra.ExactArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		if cancel {
			return c.Cancel(ctx, args[0])
		}
		pool, err := parsePool(args[0])
		if err != nil {
			return err
		}
		if pool.Type == "" || pool.Zone == "" || pool.Capacity != "" {
			return usageError{fmt.Errorf("%q is not of the form TYPE/ZONE", args[0])}
		}
		r.Type, r.Zone, r.For = pool.Type, pool.Zone, control.Duration(lasts)
		id, err := c.Reserve(ctx, r)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), id)
		return nil
	})
	f := cmd.Flags()
	f.IntVar(&r.Count, "count", 1, "Number of instances")
	f.BoolVar(&r.Targeted, "targeted", false, "Only launches that name the reservation use it")
	f.BoolVar(&r.Block, "block", false, "Create a capacity block, which has an end")
	f.BoolVar(&r.Interruptible, "interruptible", false, "AWS may reclaim the capacity")
	f.DurationVar(&lasts, "for", 0, "Duration (default: until cancelled, for a block 24h)")
	f.StringToStringVar(&r.Tags, "tag", nil, "Tags, as KEY=VALUE")
	f.BoolVar(&cancel, "cancel", false, "Cancel the reservation; its instances keep running")
	return cmd
}

func (a *app) awsGroup() *cobra.Command {
	var p control.Placement
	var cmd *cobra.Command
	cmd = a.emulatorCommand(&cobra.Command{
		Use:     "group NAME cluster|spread|partition",
		Short:   "Create a placement group and print its ID",
		Example: "  karpenter-local aws group racks partition --partitions 3",
	}, cobra.ExactArgs(2), func(ctx context.Context, c control.Client, args []string) error {
		p.Name, p.Strategy = args[0], args[1]
		id, err := c.Place(ctx, p)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), id)
		return nil
	})
	cmd.Flags().IntVar(&p.Partitions, "partitions", 0, "Number of partitions (default 7)")
	return cmd
}

func (a *app) awsShift() *cobra.Command {
	var lasts time.Duration
	var back bool
	cmd := a.emulatorCommand(&cobra.Command{
		Use:     "shift ZONE | --clear [ZONE]",
		Short:   "Start a zonal shift away from a zone (ARC), or end it",
		Example: "  karpenter-local aws shift us-east-1a --for 30m\n  karpenter-local aws shift --clear",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		zone := append(args, "")[0]
		switch {
		case back:
			return c.ShiftBack(ctx, zone)
		case zone == "":
			return usageError{fmt.Errorf("shift needs a zone, or --clear")}
		}
		return c.ShiftAway(ctx, control.Shift{Zone: zone, For: control.Duration(lasts)})
	})
	cmd.Flags().DurationVar(&lasts, "for", time.Hour, "Duration of the shift")
	cmd.Flags().BoolVar(&back, "clear", false, "End the shift of the zone, or of all zones")
	return cmd
}

func (a *app) awsLag() *cobra.Command {
	var tags bool
	cmd := a.emulatorCommand(&cobra.Command{
		Use:   "lag DURATION",
		Short: "Delay the visibility of new objects in describe calls; 0s ends it",
		Long: "Delay the visibility of new objects in describe calls, to emulate the eventual consistency of EC2: an instance that\n" +
			"was just launched is not found, and a new launch template cannot be used. With --tags, new instances are found at once,\n" +
			"but without their tags, and not by filters of tags. 0s ends it.",
		Example: "  karpenter-local aws lag 5s\n  karpenter-local aws lag 20s --tags\n  karpenter-local aws lag 0s",
	}, cobra.ExactArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		d, err := time.ParseDuration(args[0])
		if err != nil || d < 0 {
			return usageError{fmt.Errorf("%q is not a duration, use for example 5s", args[0])}
		}
		if tags {
			return c.SetLag(ctx, control.Lag{Tags: control.Duration(d)})
		}
		return c.SetLag(ctx, control.Lag{For: control.Duration(d)})
	})
	cmd.Flags().BoolVar(&tags, "tags", false, "Delay only the tags of new instances")
	return cmd
}
