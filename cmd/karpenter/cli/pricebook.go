package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/provider/aws/prices"
)

// pay applies the price book of --price-book to the catalogue's prices. Without the flag it does nothing.
func (g *cataloguing) pay(catalogue *offline.Catalogue, nodes []*corev1.Node) error {
	if g.book == "" {
		return nil
	}
	data, err := os.ReadFile(g.book)
	if err != nil {
		return fmt.Errorf("read --price-book: %w", err)
	}
	rules, err := offline.ReadPriceBook(g.book, data)
	if err != nil {
		return err
	}
	catalogue.Pay(rules, nodes)
	return nil
}

// payAsThere is like pay, but uses the price book of the cluster if none is given. If the user may not read it,
// payAsThere warns and uses list prices.
func (g *cataloguing) payAsThere(cmd *cobra.Command, r client.Reader, catalogue *offline.Catalogue, nodes []*corev1.Node) error {
	if g.book != "" {
		return g.pay(catalogue, nodes)
	}
	var found corev1.ConfigMapList
	err := r.List(cmd.Context(), &found, client.MatchingFields{"metadata.name": prices.BookName})
	if apierrors.IsForbidden(err) {
		warn(cmd.ErrOrStderr(), []string{"cannot read ConfigMap " + prices.BookName + ", using list prices: " + err.Error()})
		return nil
	}
	if err != nil {
		return fmt.Errorf("find ConfigMap %s: %w", prices.BookName, err)
	}
	if len(found.Items) == 0 {
		return nil
	}
	m := &found.Items[0]
	rules, err := prices.ParseRules(m.Data[prices.BookKey])
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	catalogue.Pay(rules, nodes)
	warn(cmd.ErrOrStderr(), []string{"prices are adjusted by the price book in ConfigMap " + m.Namespace + "/" + m.Name})
	return nil
}
