// The net spread from which a direction is traded, as market/decide/thresholds.py says: the highest of those of its
// asset and of its pair of exchanges, else the general one.

export function thresholdOf(settings, { base, buy_exchange: buy, sell_exchange: sell }) {
  if (!settings) return Infinity;
  const pairs = settings.pair_thresholds ?? {};
  const own = [`${buy}>${sell}`, `${buy}/${sell}`, `${sell}/${buy}`].map((name) => pairs[name]);
  const known = [...own, settings.asset_thresholds?.[base]].filter((value) => value !== undefined);
  return known.length ? Math.max(...known) : settings.min_net_bps;
}

export function hasOwnThresholds(settings) {
  return [settings?.asset_thresholds, settings?.pair_thresholds].some((own) => Object.keys(own ?? {}).length > 0);
}
