package org.apache.hudi.io.storage;

import org.apache.hadoop.hbase.CellComparatorImpl;

/** The order that files of Hudi's writer name, which HBase loads by its name. */
public class HoodieHBaseKVComparator extends CellComparatorImpl {}
