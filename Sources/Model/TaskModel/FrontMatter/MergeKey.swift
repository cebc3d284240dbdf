import YAML

/// The merge key `<<` of YAML, whose value refers to a map, or is a list of such references: the map
/// has their keys, too, unless it has them itself or an earlier one of the list has.
enum MergeKey {
    /// Whether a pair merges other maps. `<<` with any other value is a key like others.
    static func isMerge(_ pair: YAMLPair) -> Bool { pair.key.scalar?.text == "<<" && maps(pair.value) != nil }

    /// Returns the pairs with those that merge keys add, instead of the merge keys.
    static func resolved(_ pairs: [YAMLPair]) -> [YAMLPair] {
        let own = pairs.filter { !isMerge($0) }
        return own.count == pairs.count ? pairs : own + added(by: pairs)
    }

    /// Returns the pairs that the merge keys among `pairs` add to them.
    static func added(by pairs: [YAMLPair]) -> [YAMLPair] {
        var names = Set(pairs.compactMap { $0.key.scalar?.text })
        return pairs.filter(isMerge).flatMap { maps($0.value) ?? [] }.flatMap(resolved).filter { pair in
            pair.key.scalar.map { names.insert($0.text).inserted } ?? false
        }
    }

    private static func maps(_ value: YAMLNode) -> [[YAMLPair]]? {
        if value.target != nil, let map = value.mapping { return [map] }
        guard let nodes = value.sequence, !nodes.isEmpty else { return nil }
        let maps = nodes.compactMap { $0.target == nil ? nil : $0.mapping }
        return maps.count == nodes.count ? maps : nil
    }
}
